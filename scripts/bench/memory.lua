-- SPDX-License-Identifier: MIT
-- Resident memory: idle, and after ten million calls.
local calls = require "bench.calls"
local net = require "bench.net"
local proc = require "bench.proc"
local report = require "bench.report"
local servers = require "bench.servers"
local settings = require "bench.settings"
local uv = require "luv"

-- Half of the calls as lines on TCP, half in batches by HTTP.
local function call_much(server)
  local body = calls.batch("math.subtract", 100)
  local left = settings.calls // 2
  proc.figures { settings.work .. "/load", "-p", server.port, "-f", 64,
    "-m", "math.subtract", "-n", settings.calls - left }
  while left > 0 do
    local seen = proc.figures(calls.wrk(server.http, body, 1, 8, 1))
    assert(seen.errors == 0 and seen.requests > 0, "batches fail")
    left = left - seen.requests * 100
  end
end

-- Both listeners stand from the start, so that idle means ready for all.
local function one_life(idle, growth)
  local http = "http://127.0.0.1:" .. net.free_port() .. "/"
  local server, why = servers.moonrpc("examples/hello", "tcp://127.0.0.1:0",
    { "--listen", http })
  if not server then return nil, why end
  server.http = http
  uv.sleep(300)
  local before = proc.rss(server)
  call_much(server)
  uv.sleep(300)
  idle[#idle + 1] = before
  growth[#growth + 1] = proc.rss(server) - before
  proc.stop(server)
  return true
end

return {
  memory = function()
    local idle, growth = {}, {}
    for _ = 1, settings.runs do
      local ok, why = one_life(idle, growth)
      if not ok then return report.leave_out("memory", why) end
    end
    report.limit { name = "memory", work = "resident memory, idle",
      unit = "MiB", target = 8 * 2^20, ours = idle }
    report.limit { name = "memory", unit = "MiB", target = 2^20, ours = growth,
      work = ("growth after %.0f million calls"):format(settings.calls / 1e6) }
  end,
}
