-- SPDX-License-Identifier: MIT
-- Many WebSocket connections: one notification to all of them, and what they
-- cost while they are idle.
local proc = require "bench.proc"
local report = require "bench.report"
local servers = require "bench.servers"
local settings = require "bench.settings"
local uv = require "luv"

local READERS = 1000
-- Descriptors of a process beside those of its connections.
local SPARE = 100

local function file_limit()
  for line in io.lines("/proc/self/limits") do
    local hard = line:match("^Max open files%s+%d+%s+(%d+)")
    if hard then return tonumber(hard) end
  end
  return math.huge
end

local function raise_file_limit(server)
  proc.run { "prlimit", "--pid", server.pid,
    "--nofile=" .. file_limit() .. ":" .. file_limit() }
end

local function open(name)
  local server, why
  if name == "moonrpc" then
    server, why = servers.moonrpc(settings.home .. "/methods", "http://127.0.0.1:0")
  else
    server, why = servers[name]()
  end
  if server then raise_file_limit(server) end
  return server, why
end

-- Deliveries a second.
local function deliver(server, in_flight)
  return proc.figures { settings.work .. "/crowd", "-p", server.port, "-c",
    READERS, "-f", in_flight, "-s", settings.seconds, "-w", "0.5" }.rate
end

-- With one publication at a time both sides pay the kernel one write for each
-- delivery, which is most of what ours costs: that is shown beside.
local works = {
  { title = "200 bytes to 1,000 peers, 16 in flight", in_flight = 16, target = 3 },
  { title = "200 bytes to 1,000 peers, 1 in flight", in_flight = 1 },
}

local function compare(work, opened)
  local contestants = {}
  for name, server in pairs(opened) do
    contestants[#contestants + 1] = { name = name, run = function()
      return deliver(server, work.in_flight)
    end }
  end
  local figures = report.rounds(contestants)
  report.ratio { name = "broadcast", unit = "sent/s", work = work.title,
    peer = "Node with ws", ours = figures.moonrpc, theirs = figures.ws,
    target = work.target }
end

-- Resident bytes that each of `count` connections adds to a fresh server.
local function idle(count)
  local server, why = open("moonrpc")
  if not server then return nil, why end
  uv.sleep(300)
  local before = proc.rss(server)
  local crowd = proc.start("crowd", { settings.work .. "/crowd", "-i",
    "-p", server.port, "-c", count })
  local is_open = proc.wait(60, function()
    return crowd.ended or proc.log(crowd):find("open=" .. count, 1, true)
  end)
  if crowd.ended or not is_open then
    error(("%d connections don't open in a minute: %s"):format(count,
      proc.log(crowd)), 0)
  end
  uv.sleep(300)
  local each = (proc.rss(server) - before) / count
  proc.stop(crowd)
  proc.stop(server)
  return each
end

return {
  broadcast = function()
    local opened = {}
    for _, name in ipairs { "moonrpc", "ws" } do
      local server, why = open(name)
      opened[name] = server
      if not server then report.leave_out("broadcast with " .. name, why) end
    end
    for _, work in ipairs(works) do compare(work, opened) end
    for _, server in pairs(opened) do proc.stop(server) end
  end,
  idle = function()
    local count, figures = settings.connections, {}
    if count > file_limit() - SPARE then
      count = file_limit() - SPARE
      report.leave_out(settings.connections - count .. " idle connections",
        "a process may have no more files than " .. file_limit())
    end
    for run = 1, settings.runs do
      local each, why = idle(count)
      if not each then return report.leave_out("idle", why) end
      figures[run] = each
    end
    report.limit { name = "idle", unit = "KiB", target = 8 * 2^10,
      work = ("each of %d idle WebSocket peers"):format(count), ours = figures }
  end,
}
