-- SPDX-License-Identifier: MIT
-- Newline-delimited messages on stdio and on TCP, many in flight.
local proc = require "bench.proc"
local report = require "bench.report"
local servers = require "bench.servers"
local settings = require "bench.settings"

local targets = { chunks = 4, readline = 9 }
local titles = { chunks = "Node, split by hand", readline = "Node, readline" }
local methods = settings.home .. "/methods"

local function load(...)
  return proc.figures { settings.work .. "/load", "-f", settings.in_flight,
    "-w", "0.5", "-s", settings.seconds, ... }.rate
end

local function stdio_command(name)
  if name == "moonrpc" then
    return { settings.program, "serve", methods, "--listen", "stdio:",
      "--log", "error" }
  end
  return { "node", settings.home .. "/peers/" .. name .. ".js" }
end

-- A contestant that is started anew for each run, on our end of two pipes.
local function on_stdio(name)
  local program = stdio_command(name)[1]
  if not program:find("/") and not servers.find_program(program) then
    return nil, "there is no " .. program
  end
  if name == "moonrpc" and not io.open(program) then
    return nil, program .. " isn't built"
  end
  return { name = name, run = function()
    return load("--", "taskset", "-c", settings.server_core,
      table.unpack(stdio_command(name)))
  end }
end

local function on_tcp(name)
  local server, why
  if name == "moonrpc" then
    server, why = servers.moonrpc(methods, "tcp://127.0.0.1:0")
  else
    server, why = servers[name]()
  end
  if not server then return nil, why end
  return { name = name, server = server, run = function()
    return load("-p", server.port)
  end }
end

local function measure(row, title, open)
  local contestants = {}
  for _, name in ipairs { "moonrpc", "chunks", "readline" } do
    local contestant, why = open(name)
    contestants[#contestants + 1] = contestant
    if not contestant then report.leave_out(row .. " with " .. name, why) end
  end
  local figures = report.rounds(contestants)
  for _, contestant in ipairs(contestants) do
    if contestant.server then proc.stop(contestant.server) end
  end
  report.ratios({ name = row, title = ("%s, %d in flight"):format(title, settings.in_flight),
    peers = { "chunks", "readline" }, targets = targets }, titles, figures)
end

return {
  stdio = function() measure("stdio", "lines on stdio", on_stdio) end,
  tcp = function() measure("tcp", "lines on TCP", on_tcp) end,
}
