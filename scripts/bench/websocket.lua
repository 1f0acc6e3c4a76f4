-- SPDX-License-Identifier: MIT
-- Calls by WebSocket: many connections with one call each, and one connection
-- with many.
local proc = require "bench.proc"
local report = require "bench.report"
local servers = require "bench.servers"
local settings = require "bench.settings"

local titles = {
  barews = "bare libuv+wslay echo",
  ws = "Node with ws",
  wscorked = "Node with ws, corked",
}

local function open(name)
  if name == "moonrpc" then
    return servers.moonrpc(settings.home .. "/methods", "http://127.0.0.1:0")
  end
  return servers[name]()
end

-- One run: calls a second; notes how busy the server was.
local function run(work, name, server)
  local words = { settings.work .. "/wsload", "-p", server.port, "-w", "0.5",
    "-c", work.connections, "-f", work.in_flight, "-s", settings.seconds }
  if name == "barews" then words[#words + 1] = "-e" end
  local busy = proc.cpu(server)
  local rate = proc.figures(words).rate
  work.busy[name] = (proc.cpu(server) - busy) / (settings.seconds + 0.5)
  return rate
end

local function measure(work)
  local contestants, opened = {}, {}
  work.busy = {}
  for _, name in ipairs { "moonrpc", table.unpack(work.peers) } do
    local server, why = open(name)
    if server then
      opened[#opened + 1] = server
      contestants[#contestants + 1] = { name = name, run = function()
        return run(work, name, server)
      end }
    else
      report.leave_out(work.name .. " with " .. name, why)
    end
  end
  local figures = report.rounds(contestants)
  for _, server in ipairs(opened) do proc.stop(server) end
  report.ratios(work, titles, figures)
end

return {
  ws = function()
    measure { name = "ws", title = "WebSocket, 32 connections, 1 in flight",
      connections = 32, in_flight = 1, peers = { "barews", "ws" },
      targets = { barews = 0.85, ws = 2 } }
  end,
  ws64 = function()
    measure { name = "ws64", title = "WebSocket, 1 connection, 64 in flight",
      connections = 1, in_flight = 64, peers = { "ws", "wscorked", "barews" },
      targets = { ws = 8 } }
  end,
}
