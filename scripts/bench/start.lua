-- SPDX-License-Identifier: MIT
-- From the start of the program to its first answer.
local net = require "bench.net"
local proc = require "bench.proc"
local report = require "bench.report"
local servers = require "bench.servers"
local settings = require "bench.settings"

local function start(method, command, port)
  return proc.figures { settings.work .. "/start", settings.server_core, port,
    method, table.unpack(command) }.seconds
end

local function contestants()
  local list = {}
  if io.open(settings.program) then
    list[1] = { name = "moonrpc", run = function()
      local port = net.free_port()
      return start("math.subtract", { settings.program, "serve",
        "examples/hello", "--listen", "http://127.0.0.1:" .. port }, port)
    end }
  else
    report.leave_out("start of moonrpc", settings.program .. " isn't built")
  end
  if servers.find_program("node") then
    list[#list + 1] = { name = "node", run = function()
      local port = net.free_port()
      return start("subtract",
        { "node", settings.home .. "/peers/hello.js", port }, port)
    end }
  else
    report.leave_out("start of Node", "there is no node")
  end
  return list
end

return {
  start = function()
    local list = contestants()
    for _, one in ipairs(list) do one.run() end -- so that files are cached
    local figures = report.rounds(list)
    report.ratio { name = "start", work = "start to first answer", unit = "ms",
      peer = "Node's http", target = 0.2, at_most = true,
      ours = figures.moonrpc, theirs = figures.node }
  end,
}
