-- SPDX-License-Identifier: MIT
-- HTTP: one call a request, requests pipelined, batches.
local calls = require "bench.calls"
local cjson = require "cjson"
local net = require "bench.net"
local proc = require "bench.proc"
local report = require "bench.report"
local servers = require "bench.servers"
local settings = require "bench.settings"

local function is_answer(value)
  return type(value) == "table" and value.jsonrpc == "2.0"
    and value.result == 19 and value.id ~= nil
end

-- Posts the body once, checks the answer, and returns its size on the wire.
local function check(server, work)
  local answer, failure = net.post(server.port, work.body)
  if not answer then return nil, failure end
  local ok, value = pcall(cjson.decode, answer.body)
  local good = ok and answer.status == 200
  for i = 1, good and work.calls or 0 do
    good = good and is_answer(work.calls == 1 and value or value[i])
  end
  if good or (server.name == "bare" and answer.status == 200) then
    return answer.size
  end
  return nil, "a wrong answer: " .. answer.body:sub(1, 200)
end

-- One run of wrk: calls a second. Answers of another size than the checked
-- one can't be right, so the bytes that came must match.
local function run(server, work, seconds)
  local busy = proc.cpu(server)
  local seen = proc.figures(calls.wrk("http://127.0.0.1:" .. server.port .. "/",
    work.body, work.depth, work.connections, seconds))
  local expected = seen.requests * server.answer_size
  if seen.errors > 0 or math.abs(seen.bytes - expected) > expected / 50 then
    error(("%s answered wrongly under load: %d errors, %d bytes, not %d")
      :format(server.name, seen.errors, seen.bytes, expected // 1), 0)
  end
  work.busy[server.name] = (proc.cpu(server) - busy) / seen.seconds
  return seen.requests * work.calls / seen.seconds
end

local function open(name, work)
  local server, why
  if name == "moonrpc" then
    server, why = servers.moonrpc(settings.home .. "/methods", "http://127.0.0.1:0")
  else
    server, why = servers[name]()
  end
  if server then server.answer_size, why = check(server, work) end
  if server and server.answer_size then return server end
  if server then proc.stop(server) end
  report.leave_out(work.name .. " with " .. name, why)
end

local titles = {
  bare = "bare libuv+llhttp",
  nginx = "nginx+LuaJIT+cjson",
  jayson = "jayson",
}

local function measure(work)
  local contestants, opened = {}, {}
  work.busy = {}
  for _, name in ipairs { "moonrpc", table.unpack(work.peers) } do
    local server = open(name, work)
    if server then
      opened[#opened + 1] = server
      run(server, work, 1)
      contestants[#contestants + 1] = { name = name, run = function()
        return run(server, work, settings.seconds)
      end }
    end
  end
  local figures = report.rounds(contestants)
  for _, server in ipairs(opened) do proc.stop(server) end
  report.ratios(work, titles, figures)
end

return {
  http = function()
    measure { name = "http", title = "HTTP, a call a request, 32 connections",
      body = calls.single("subtract", 1), calls = 1, depth = 1, connections = 32,
      peers = { "bare", "nginx" }, targets = { bare = 0.90 } }
  end,
  pipelined = function()
    measure { name = "pipelined", title = "HTTP, 16 pipelined, 8 connections",
      body = calls.single("subtract", 1), calls = 1, depth = 16, connections = 8,
      peers = { "bare" }, targets = { bare = 0.60 } }
  end,
  batch = function()
    measure { name = "batch", title = "HTTP, batch of 100, 8 connections",
      body = calls.batch("subtract", 100), calls = 100, depth = 1, connections = 8,
      peers = { "nginx", "jayson" }, targets = { nginx = 5, jayson = 6 } }
  end,
}
