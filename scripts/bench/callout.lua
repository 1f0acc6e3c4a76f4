-- SPDX-License-Identifier: MIT
-- Calls from the server to its client, on stdio, in messages with
-- Content-Length on both sides.
local proc = require "bench.proc"
local report = require "bench.report"
local servers = require "bench.servers"
local settings = require "bench.settings"

local IN_FLIGHT = 64

local function on_server_core(words)
  return "taskset", "-c", settings.server_core, table.unpack(words)
end

local function moonrpc()
  if not io.open(settings.program) then
    return nil, settings.program .. " isn't built"
  end
  return { settings.work .. "/answer", "-f", IN_FLIGHT, "-s", settings.seconds,
    "-w", "0.5", "--", on_server_core { settings.program, "serve",
      settings.home .. "/methods", "--listen", "stdio:?framing=header",
      "--log", "error" } }
end

local function vscode()
  local client, why = servers.node_words("vscode-client", "vscode-jsonrpc")
  if not client then return nil, why end
  local server = servers.node_words("vscode-server", "vscode-jsonrpc")
  local words = { "env", servers.node_env[1] }
  table.move(client, 1, #client, #words + 1, words)
  table.move({ IN_FLIGHT, settings.seconds, "0.5", on_server_core(server) },
    1, 6 + #server, #words + 1, words)
  return words
end

return {
  callout = function()
    local contestants = {}
    for name, make in pairs { moonrpc = moonrpc, vscode = vscode } do
      local words, why = make()
      if words then
        contestants[#contestants + 1] = { name = name, run = function()
          return proc.figures(words).rate
        end }
      else
        report.leave_out("callout with " .. name, why)
      end
    end
    local figures = report.rounds(contestants)
    report.ratio { name = "callout", unit = "calls/s", target = 10,
      work = ("server to client on stdio, %d in flight"):format(IN_FLIGHT),
      peer = "vscode-jsonrpc on both ends", ours = figures.moonrpc,
      theirs = figures.vscode }
  end,
}
