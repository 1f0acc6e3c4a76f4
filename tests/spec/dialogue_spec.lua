-- Plays every dialogue on every transport: message by message, byte by byte, and
-- all at once with half-close behind it.
local support = require "support"
local dialogue = require "support.dialogue"
local json, transports, wire = support.json, support.transports, support.wire
local conn, program = support.conn, support.program

local METHODS = "tests/spec/methods"

-- A program that listens on all sockets serves the whole file; stdio has a
-- program of its own for each dialogue.
local server, urls

local function start_server()
  local dir = support.files.temp()
  local listen, at = {}, {}
  for _, transport in ipairs(transports.list) do
    if transport.url ~= "stdio:" then
      listen[#listen + 1] = transport.url:gsub("DIR", dir)
      at[transport.name] = #listen
    end
  end
  server = program.serve(METHODS, { listen = listen, args = { "--no-watch" } })
  urls = {}
  for name, index in pairs(at) do urls[name] = server.urls[index] end
end

local function connect(transport)
  if transport.framing == "ws" then return wire.ws.open(conn.open(urls[transport.name])) end
  if transport.url ~= "stdio:" then return conn.open(urls[transport.name]) end
  return conn.stdio(program.serve(METHODS, {
    listen = { "stdio:" }, args = { "--no-watch" }, stdin = true,
  }))
end

local function open(transport)
  if not transport.framing then return transports.http(urls[transport.name]) end
  return transports.stream(connect(transport), transport.framing)
end

local function same(expected, got, step)
  assert.equal(json.canonical_set(expected), json.canonical_set(got),
    "in answer to " .. step.send:sub(1, 300))
end

-- Sends one message after the other; behind each the answers that stand in the
-- file must come, and no others. `size`: bytes a write.
local function play(path, transport, size)
  local session = open(transport)
  for _, step in ipairs(dialogue.read(path)) do
    session:send(step.send, size)
    local got = {}
    for i = 1, #step.expect do got[i] = session:next() end
    same(step.expect, got, step)
  end
  session:send('{"jsonrpc":"2.0","method":"echo","params":["the end"],"id":"the end"}')
  same({ '{"jsonrpc":"2.0","result":["the end"],"id":"the end"}' },
    { session:next() }, { send = "the end" })
  session:settle()
  session:close()
end

-- Takes all that came until the end of the connection.
local function read_all(connection, framing)
  local got = {}
  while not connection.eof or #connection.data > 0 do
    if #connection.data > 0 then
      if framing then
        got[#got + 1] = wire[framing].read(connection)
      else
        local response = wire.http.read(connection)
        assert.truthy(response.status == 200 or response.status == 204, response.block)
        got[#got + 1] = response.body ~= "" and response.body or nil
      end
    else
      support.loop.wait(function() return connection.eof or #connection.data > 0 end,
        nil, "the end of the connection")
    end
  end
  return got
end

-- A WebSocket has no half-close: who says the end must have heard all before.
local function read_ws(connection, count)
  local got = {}
  for i = 1, count do got[i] = wire.ws.read(connection) end
  connection:send(wire.ws.frame(string.pack(">I2", 1000), wire.ws.CLOSE))
  assert.equal(1000, (wire.ws.read_close(connection)))
  assert.equal("", connection:rest())
  return got
end

-- Sends the whole file in one write and ends its sending; all answers must come,
-- then the end of the connection.
local function play_at_once(path, transport)
  local connection = connect(transport)
  local wrap = wire[transport.framing or "http"].wrap
  local bytes, expected = {}, {}
  for i, step in ipairs(dialogue.read(path)) do
    bytes[i] = wrap(step.send)
    table.move(step.expect, 1, #step.expect, #expected + 1, expected)
  end
  connection:send(table.concat(bytes))
  if transport.framing == "ws" then
    same(expected, read_ws(connection, #expected), { send = path })
  else
    connection:finish()
    same(expected, read_all(connection, transport.framing), { send = path })
  end
  connection:close()
end

-- HTTP can't carry calls of the host's, and what answers them can't be said
-- before.
local function add_tests(path, transport, has_calls)
  local title = ("%s on %s, "):format(path:match("([^/]+)%.txt$"), transport.name)
  it("is kept: " .. title .. "message by message", function()
    play(path, transport)
  end)
  it("is kept: " .. title .. "byte by byte", function()
    play(path, transport, 1)
  end)
  if has_calls then return end
  it("is kept: " .. title .. "all at once", function()
    play_at_once(path, transport)
  end)
end

describe("a dialogue", function()
  setup(start_server)
  teardown(support.clean)

  for _, transport in ipairs(transports.list) do
    for _, path in ipairs(dialogue.files()) do
      local _, has_calls = dialogue.read(path)
      if transport.framing or not has_calls then add_tests(path, transport, has_calls) end
    end
  end
end)
