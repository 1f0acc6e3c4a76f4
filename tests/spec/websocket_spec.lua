-- WebSocket from outside: the handshake on HTTP's port, how conversations end,
-- and what a client can't do to the program.
local support = require "support"
local conn, loop, wire = support.conn, support.loop, support.wire
local ws = wire.ws

local METHODS = {
  ["init.lua"] = [[
    local M, seen = {}, rpc.state("seen")
    function M.echo(params) return params end
    function M.fields()
      local peer = rpc.peer()
      return { transport = peer.transport, agent = peer.headers["user-agent"] }
    end
    function M.slow(seconds) rpc.sleep(seconds) return "slept" end
    function M.hang()
      local note <close> = setmetatable({}, { __close = function()
        rpc.log.info("a hanging call has ended")
      end })
      rpc.log.info("a call hangs")
      rpc.sleep(50)
    end
    function M.leave(reason) rpc.peer():close(reason) return "left" end
    function M.large(n) return ("x"):rep(n) end
    return M]],
}

local server, url

local function serve(config, args)
  server = support.serve(METHODS, { config = config, args = args })
  url = server.urls[1]
end

local function request(method, params, id)
  return support.client.request(method, params, id or 1)
end

local function open(fields)
  return ws.open(conn.open(url), fields)
end

-- The answer to one call, as text.
local function call(connection, method, params)
  connection:send(ws.wrap(request(method, params)))
  return ws.read(connection)
end

-- The other side says Close with this code, and nothing behind it.
local function closes(connection, code)
  assert.equal(code, (ws.read_close(connection)))
  assert.equal("", connection:rest())
end

local function close_frame(code, reason)
  return ws.frame(string.pack(">I2", code) .. (reason or ""), ws.CLOSE)
end

describe("a WebSocket", function()
  setup(function() serve("{}") end)
  teardown(support.clean)
  after_each(function()
    conn.clean()
    assert.is_nil(server.code, "the program has ended: " .. server.err)
  end)

  describe("begins", function()
    it("on the port of HTTP, which goes on beside it", function()
      local socket, http = open(), conn.open(url)
      assert.matches('"result":%[1%]', call(socket, "echo", "[1]"))
      http:send(wire.http.wrap(request("echo", "[2]")))
      assert.matches('"result":%[2%]', wire.http.read(http).body)
    end)

    it("on a connection that was HTTP before", function()
      local socket = conn.open(url)
      socket:send(wire.http.wrap(request("echo", "[2]")))
      assert.equal(200, wire.http.read(socket).status)
      ws.open(socket)
      assert.matches('"result":%[1%]', call(socket, "echo", "[1]"))
    end)

    it("with the first call at the heels of the handshake", function()
      local handshake = ws.handshake()
      local socket = conn.open(url):send(handshake .. ws.wrap(request("echo", "[1]")))
      assert.equal(101, wire.http.read(socket).status)
      assert.matches('"result":%[1%]', ws.read(socket))
    end)

    it("byte by byte", function()
      local handshake = ws.handshake()
      local socket = conn.open(url)
      socket:send_bytewise(handshake .. ws.wrap(request("echo", "[1]")))
      assert.equal(101, wire.http.read(socket).status)
      assert.matches('"result":%[1%]', ws.read(socket))
    end)

    it("as a transport of its own, whose header fields scripts see", function()
      local text = call(open { ["User-Agent"] = "spec" }, "fields")
      assert.matches('"transport":"ws"', text)
      assert.matches('"agent":"spec"', text)
    end)

    it("not for foreign origins", function()
      local handshake = ws.handshake { Origin = "https://evil.example" }
      local socket = conn.open(url):send(handshake)
      assert.equal(403, wire.http.read(socket).status)
    end)

    it("in version 13 only", function()
      local handshake = ws.handshake { ["Sec-WebSocket-Version"] = "8" }
      local response = wire.http.read(conn.open(url):send(handshake))
      assert.equal(426, response.status)
      assert.equal("13", response.headers["sec-websocket-version"])
      assert.equal("websocket", response.headers.upgrade)
      assert.matches("Upgrade", response.headers.connection)
    end)
  end)

  describe("carries", function()
    it("fragments, with a ping between them", function()
      local socket, text = open(), request("echo", '["' .. ("ä"):rep(100) .. '"]')
      for at = 1, #text do
        socket:send(ws.frame(text:sub(at, at), at == 1 and ws.TEXT or 0, at < #text))
        if at == 50 then socket:send(ws.frame("hello", ws.PING)) end
      end
      local opcode, payload = ws.read_frame(socket)
      assert.same({ ws.PONG, "hello" }, { opcode, payload })
      assert.matches(("ä"):rep(100), ws.read(socket), 1, true)
    end)

    it("large messages both ways", function()
      local socket, text = open(), ("x"):rep(2^20)
      local answer = call(socket, "echo", '["' .. text .. '"]')
      assert.equal(#text, #answer:match("x+"))
    end)

    it("a thousand calls of one write, in one conversation", function()
      local socket, frames = open(), {}
      for i = 1, 1000 do frames[i] = ws.wrap(request("echo", "[" .. i .. "]", i)) end
      socket:send(table.concat(frames))
      for i = 1, 1000 do
        assert.matches(('"result":[%d],"id":%d}'):format(i, i), ws.read(socket), 1, true)
      end
    end)
  end)

  describe("ends", function()
    it("with the code that the client gave", function()
      for _, code in ipairs { 1000, 1001, 3000, 4999 } do
        local socket = open()
        socket:send(close_frame(code, "bye"))
        closes(socket, code)
      end
    end)

    it("with 1000 and a reason by a script, behind the answers that are owed", function()
      local socket = open()
      socket:send(ws.wrap(request("slow", "[0.2]")) .. ws.wrap(request("leave", '["enough"]', 2)))
      assert.matches('"left"', ws.read(socket))
      assert.matches('"slept"', ws.read(socket))
      assert.same({ 1000, "enough" }, { ws.read_close(socket) })
      assert.equal("", socket:rest())
    end)

    it("with 1002, 1003, 1007 and 1009, by what was wrong", function()
      local faults = {
        [1002] = "\x81\x02[]",
        [1003] = ws.frame("[]", ws.BINARY),
        [1007] = ws.frame("\xff", ws.TEXT),
        [1009] = ws.frame("", ws.TEXT):sub(1, 1) .. string.pack(">BI8", 0xff, 2^30) .. "\0\0\0\0x",
      }
      for code, bytes in pairs(faults) do closes(open():send(bytes), code) end
      closes(open():send(close_frame(1006)), 1002)
    end)

    it("at a wrong byte in the midst of a message", function()
      closes(open():send(ws.frame("abc\xed\xa0", ws.TEXT, true)), 1007)
    end)

    it("and cancels the calls in flight, however it ends", function()
      local from = #server.err + 1
      local ways = {
        function(socket) socket:send(close_frame(1000)) end,
        function(socket) socket:finish() end,
        function(socket) socket:reset() end,
        function(socket) socket:send("\xff\xff") end,
      }
      for _, way in ipairs(ways) do
        local socket = open()
        socket:send(ws.wrap(request("hang")))
        from = select(2, server:wait_log("a call hangs", nil, from))
        way(socket)
        from = select(2, server:wait_log("a hanging call has ended", nil, from))
      end
    end)
  end)
end)

describe("a WebSocket of a server that is set up", function()
  after_each(support.clean)

  it("goes with 1001 when it drains, behind the answers that are owed", function()
    serve("{}")
    local idle, busy = open(), open()
    assert.matches('"result"', call(idle, "echo"))
    busy:send(ws.wrap(request("slow", "[0.3]")) .. ws.wrap(request("echo", "[1]", 2)))
    assert.matches('"id":2', ws.read(busy))
    server:kill("sigterm")
    closes(idle, 1001)
    assert.matches('"slept"', ws.read(busy))
    closes(busy, 1001)
    assert.equal(0, (server:wait_exit()))
  end)

  it("is asked for a sign of life, and ends without one", function()
    serve("{ websocket = { ping = 0.2, pong = 0.2 } }")
    local dead, alive = open(), open()
    local from = loop.now()
    for _ = 1, 3 do
      local opcode, payload = ws.read_frame(alive)
      assert.equal(ws.PING, opcode)
      alive:send(ws.frame(payload, ws.PONG))
    end
    assert.is_true(loop.now() - from >= 0.6)
    server:wait_log("it didn't answer a ping")
    assert.equal("\x89\0", dead:rest())
    assert.matches('"result":%[1%]', call(alive, "echo", "[1]"))
  end)

  it("is left alone while its call is under way", function()
    serve("{ websocket = { ping = 0.1, pong = 10 }, limits = { in_flight = 1 } }")
    local socket = open()
    assert.matches('"slept"', call(socket, "slow", "[0.5]"))
  end)

  it("takes binary messages where it is told to", function()
    serve("{ websocket = { binary = true } }")
    local socket = open()
    socket:send(ws.frame(request("echo", "[1]"), ws.BINARY))
    assert.matches('"result":%[1%]', ws.read(socket))
  end)

  it("is answered as HTTP where it is switched off", function()
    serve("{ websocket = false }")
    local connection = conn.open(url):send(ws.handshake {})
    local response = wire.http.read(connection)
    assert.equal(405, response.status)
    assert.equal("POST, OPTIONS", response.headers.allow)
    connection:send(wire.http.wrap(request("echo", "[1]")))
    assert.matches('"result":%[1%]', wire.http.read(connection).body)
  end)

  it("can't be listened for where it is switched off", function()
    local dir = support.files.temp { ["m/init.lua"] = "return {}",
      ["off.lua"] = "return { websocket = false }" }
    local code, _, err = support.program.run { "serve", dir .. "/m", "--config",
      dir .. "/off.lua", "--listen", "ws://127.0.0.1:0" }
    assert.not_equal(0, code)
    assert.matches("ws://127.0.0.1:0: websocket is off", err, 1, true)
  end)

  it("is all that an address of ws:// or ws+unix: takes", function()
    local dir = support.files.temp()
    local own = support.serve({ ["init.lua"] = "return { up = function() return true end }" },
      { listen = { "ws://127.0.0.1:0/rpc", "ws+unix:" .. dir .. "/s" } })
    for i, http in ipairs { own.urls[1]:gsub("^ws", "http"), "http+unix:" .. dir .. "/s" } do
      local path = i == 1 and "/rpc" or "/"
      for _, method in ipairs { "POST", "GET", "OPTIONS" } do
        local text = method == "POST" and '{"jsonrpc":"2.0","method":"up","id":1}' or nil
        local response = wire.http.read(conn.open(http):send(
          wire.http.wrap(text, nil, ("%s %s HTTP/1.1"):format(method, path))))
        assert.equal(426, response.status)
        assert.equal("websocket", response.headers.upgrade)
        assert.matches("Upgrade", response.headers.connection)
        assert.equal("426 this address takes WebSocket only\n", response.body)
      end
      local response = wire.http.read(conn.open(http):send(
        wire.http.wrap(nil, nil, "GET /healthz HTTP/1.1")))
      assert.equal(200, response.status)
      local code, out = support.program.run { "call", own.urls[i], "up" }
      assert.same({ 0, "true\n" }, { code, out })
    end
  end)

  it("chooses a subprotocol", function()
    serve('{ websocket = { protocols = { "a", "b" } } }')
    local handshake = ws.handshake { ["Sec-WebSocket-Protocol"] = "c, b, a" }
    local response = wire.http.read(conn.open(url):send(handshake))
    assert.equal("b", response.headers["sec-websocket-protocol"])
  end)

  it("says in a detailed log that no subprotocol is in common", function()
    serve('{ websocket = { protocols = { "a" } }, log = { level = "debug" } }')
    local handshake = ws.handshake { ["Sec-WebSocket-Protocol"] = "c, d" }
    local response = wire.http.read(conn.open(url):send(handshake))
    assert.is_nil(response.headers["sec-websocket-protocol"])
    server:wait_log("debug no subprotocol in common .* wished=c key=websocket.protocols")
  end)

  it("gets no more than it reads", function()
    serve("{ limits = { output = 2^16, write_time = 1 } }")
    local socket = open()
    socket:pause()
    local before = server:memory()
    local frames = {}
    for i = 1, 200 do frames[i] = ws.wrap(request("large", "[1e5]", i)) end
    socket:send(table.concat(frames))
    server:wait_log("output stands still")
    if not support.program.is_sanitized then
      assert.is_true(server:memory() - before < 8 * 2^20)
    end
  end)

  it("isn't filled up by pings that nobody reads the answers of", function()
    serve("{ limits = { output = 2^16, write_time = 1 } }")
    local socket = open()
    socket:pause()
    local before = server:memory()
    local pings = ws.frame(("x"):rep(125), ws.PING):rep(8000)
    for _ = 1, 20 do socket:send(pings) end
    server:wait_log("output stands still")
    if not support.program.is_sanitized then
      assert.is_true(server:memory() - before < 8 * 2^20)
    end
  end)
end)
