-- SPDX-License-Identifier: MIT
-- Rounds, medians, and the table at the end. A row of the table compares
-- figures of two contestants, or holds one figure against a limit.
local cjson = require "cjson"
local settings = require "bench.settings"

local report = { rows = {}, left_out = {}, failed = {} }

function report.leave_out(what, why)
  report.left_out[#report.left_out + 1] = { what = what, why = why }
  io.write("  left out: ", what, ": ", why, "\n")
end

function report.fail(row, why)
  report.failed[#report.failed + 1] = { what = row, why = why }
  io.write("  failed: ", row, ": ", why, "\n")
end

function report.median(figures)
  local sorted = table.move(figures, 1, #figures, 1, {})
  table.sort(sorted)
  local middle = #sorted // 2
  if #sorted % 2 == 1 then return sorted[middle + 1] end
  return (sorted[middle] + sorted[middle + 1]) / 2
end

--- Runs contestants { name =, run = function() -> figure } in turns, A B C A
--- B C, and returns their figures by name.
function report.rounds(contestants)
  local figures = {}
  for _, one in ipairs(contestants) do figures[one.name] = {} end
  for _ = 1, settings.runs do
    for _, one in ipairs(contestants) do
      local list = figures[one.name]
      list[#list + 1] = one.run()
    end
  end
  return figures
end

local function judge(row)
  if not row.target or not row.value then return nil end
  if row.at_most then return row.value <= row.target end
  return row.value >= row.target
end

local function add(row)
  row.reached = judge(row)
  report.rows[#report.rows + 1] = row
  io.write("  ", report.line(row), "\n")
end

--- A ratio of medians. `row` has: name, work, unit, peer; target if there is
--- one; at_most when less is better; ours and theirs, lists of figures.
function report.ratio(row)
  local function median(list) return list and #list > 0 and report.median(list) end
  row.our_median, row.their_median = median(row.ours), median(row.theirs)
  row.value = row.our_median and row.their_median
    and row.our_median / row.their_median or nil
  add(row)
end

--- The ratios of our figures to those of each of work.peers. `work` has name,
--- title, peers, targets by peer, and, where it was seen, how busy the
--- servers were; `titles` are the peers' names for people.
function report.ratios(work, titles, figures)
  local busy = work.busy or {}
  for _, peer in ipairs(work.peers) do
    report.ratio { name = work.name, work = work.title, unit = "calls/s",
      peer = titles[peer], ours = figures.moonrpc, theirs = figures[peer],
      target = work.targets[peer], our_core = busy.moonrpc, their_core = busy[peer] }
  end
end

--- One of our own figures against a limit: name, work, unit, target, ours.
function report.limit(row)
  row.at_most = true
  row.our_median = report.median(row.ours)
  row.value = row.our_median
  add(row)
end

local units = {
  ["calls/s"] = { "%.0f", 1 },
  ["MB/s"] = { "%.0f", 1e-6 },
  ms = { "%.2f", 1e3 },
  ["sent/s"] = { "%.0f", 1 },
  KiB = { "%.2f", 2.0 ^ -10 },
  MiB = { "%.2f", 2.0 ^ -20 },
}

local function show(figure, unit)
  if not figure then return "-" end
  local format = units[unit]
  local text = format[1]:format(figure * format[2])
  repeat
    local count
    text, count = text:gsub("^(%d+)(%d%d%d)", "%1,%2")
  until count == 0
  return text .. " " .. unit
end

local function show_target(row)
  if not row.target then return "shown beside", "" end
  local sign = row.at_most and "<= " or ">= "
  local target = row.peer and ("%.2f"):format(row.target)
    or show(row.target, row.unit)
  local verdict = "not run"
  if row.reached ~= nil then verdict = row.reached and "reached" or "MISSED" end
  return sign .. target, verdict
end

function report.line(row)
  local value = row.peer and row.value and ("%.2f"):format(row.value) or "-"
  local target, verdict = show_target(row)
  local peer = row.peer and row.peer .. " " .. show(row.their_median, row.unit)
    or ""
  return ("%-40s %18s  %-34s %10s  %-13s %s"):format(row.work,
    show(row.our_median, row.unit), peer, value, target, verdict)
end

function report.print()
  io.write("\n", ("%-40s %18s  %-34s %10s  %-13s %s\n"):format("work",
    "moonrpc", "beside", "ratio", "target", ""))
  for _, row in ipairs(report.rows) do io.write(report.line(row), "\n") end
  for _, one in ipairs(report.left_out) do
    io.write("left out: ", one.what, ": ", one.why, "\n")
  end
  for _, one in ipairs(report.failed) do
    io.write("failed: ", one.what, ": ", one.why, "\n")
  end
  io.write(("medians of %d interleaved runs of %d s; server on core %d, load "
    .. "on core %d\n"):format(settings.runs, settings.seconds,
    settings.server_core, settings.load_core))
end

function report.write(path)
  local file <close> = assert(io.open(path, "w"))
  file:write(cjson.encode {
    runs = settings.runs,
    seconds = settings.seconds,
    rows = report.rows,
    left_out = report.left_out,
    failed = report.failed,
  }, "\n")
end

return report
