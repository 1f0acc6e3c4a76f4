-- SPDX-License-Identifier: MIT
-- The codec beside lua-cjson: both run inside one server's Lua state, called
-- in turns (methods/codec.lua holds the stopwatch).
local cjson = require "cjson"
local documents = require "bench.documents"
local net = require "bench.net"
local proc = require "bench.proc"
local report = require "bench.report"
local servers = require "bench.servers"
local settings = require "bench.settings"
local uv = require "luv"

local targets = {
  decode = { twitter = 2.0, citm_catalog = 1.8, canada = 2.5 },
  encode = { twitter = 2, citm_catalog = 4, canada = 3 },
}

-- Bytes a second of one codec, asked of the server.
local function speed(line, library, operation, document, alone)
  local answer, failure = line:ask(cjson.encode {
    jsonrpc = "2.0", id = 1, method = "codec.time",
    params = { library, operation, document.path, settings.seconds / 4, alone },
  }, 60)
  if not answer then error("codec.time: " .. failure, 0) end
  local seconds = cjson.decode(answer).result
  if not seconds then error("codec.time: " .. answer, 0) end
  return document.size / seconds
end

local function measure(line, operation, document, alone)
  local contestants = {}
  for _, library in ipairs { "moonrpc", "cjson" } do
    contestants[#contestants + 1] = { name = library, run = function()
      return speed(line, library, operation, document, alone)
    end }
  end
  local figures = report.rounds(contestants)
  local collector = alone and ", no collector" or ""
  report.ratio { name = operation, unit = "MB/s", peer = "lua-cjson",
    work = operation .. " " .. document.name .. collector,
    target = not alone and targets[operation][document.name] or nil,
    ours = figures.moonrpc, theirs = figures.cjson }
end

local function measure_all(operation)
  local server, why = servers.moonrpc(
    settings.home .. "/methods", "tcp://127.0.0.1:0")
  if not server then
    return report.leave_out(operation, why)
  end
  local line = assert(net.line(server.port))
  for _, document in ipairs(documents.find()) do
    document.path = uv.fs_realpath(document.path)
    measure(line, operation, document, false)
    measure(line, operation, document, true)
  end
  line.close()
  proc.stop(server)
end

return {
  decode = function() measure_all("decode") end,
  encode = function() measure_all("encode") end,
}
