-- JSON on bare streams: lines and Content-Length over TCP, Unix sockets and
-- stdio, from outside.
local support = require "support"
local conn, wire = support.conn, support.wire

local SUBTRACT = '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}'
local ANSWER = '{"jsonrpc":"2.0","result":19,"id":1}'
local NOTIFY = '{"jsonrpc":"2.0","method":"update"}'

local request = support.client.request

-- Dialogue methods, and a counter that tells whether something was run.
local METHODS = {
  ["init.lua"] = support.files.read("tests/spec/methods/init.lua"),
  ["count.lua"] = [[
    local M, n = {}, 0
    function M.up() n = n + 1 return n end
    function M.get() return n end
    return M]],
}
local COUNT_UP = request("count.up")

local server, tcp, unix

local function count()
  return support.client.open(tcp):result("count.get")
end

-- The connection ends, and what it says before is an error, or nothing.
local function is_ended(connection)
  local rest = connection:rest()
  assert.is_nil(rest:find('"result"', 1, true), rest)
  return rest
end

describe("on a stream", function()
  setup(function()
    server = support.serve(METHODS, {
      listen = { "tcp://127.0.0.1:0", "unix:" .. support.files.temp() .. "/s",
        "tcp://127.0.0.1:0?framing=line", "tcp://127.0.0.1:0?framing=header" },
    })
    tcp, unix = server.urls[1], server.urls[2]
  end)
  teardown(support.clean)
  after_each(function()
    conn.clean()
    assert.is_nil(server.code, "the program has ended: " .. server.err)
    assert.equal(19, support.client.open(tcp):result("subtract", "[42,23]"))
  end)

  describe("lines", function()
    it("end in LF or CRLF; empty ones are nothing", function()
      for _, url in ipairs { tcp, unix } do
        local connection = conn.open(url)
        connection:send("\n\r\n  \n" .. SUBTRACT .. "\n\n" .. SUBTRACT .. "\r\n\r\n \t \r\n" ..
          "  " .. SUBTRACT .. "  \n")
        for _ = 1, 3 do assert.equal(ANSWER, connection:line()) end
        assert.equal("", connection:finish():rest())
      end
    end)

    it("are answered by one line each, ended by LF", function()
      local connection = conn.open(tcp):send(SUBTRACT .. "\r\n")
      connection:finish()
      assert.equal(ANSWER .. "\n", connection:rest())
    end)

    it("need no end before the end of the stream", function()
      for _, url in ipairs { tcp, unix } do
        assert.equal(ANSWER .. "\n", conn.open(url):send(SUBTRACT):finish():rest())
      end
    end)

    it("that break off at the end of the stream are no JSON", function()
      local connection = conn.open(tcp):send(SUBTRACT .. "\n" .. SUBTRACT:sub(1, -2)):finish()
      assert.equal(ANSWER, connection:line())
      assert.matches("%-32700", connection:line())
      assert.equal("", connection:rest())
    end)

    it("in one packet are answered in order, notifications left out", function()
      local list = {}
      for i = 1, 200 do
        list[#list + 1] = request("echo", "[" .. i .. "]", i)
        list[#list + 1] = NOTIFY
      end
      local connection = conn.open(tcp):send(table.concat(list, "\n") .. "\n")
      for i = 1, 200 do
        assert.equal(('{"jsonrpc":"2.0","result":[%d],"id":%d}'):format(i, i), connection:line())
      end
    end)

    it("don't wait for slow ones before them", function()
      local connection = conn.open(tcp)
      connection:send(request("wait", '["a"]', 1) .. "\n" .. SUBTRACT .. "\n")
      assert.equal(ANSWER, connection:line())
      connection:send(request("release", '["a"]', 2) .. "\n")
      assert.equal(2, #connection:lines(2))
    end)

    it("of a megabyte pass", function()
      local params = '["' .. ("x"):rep(1 << 20) .. '"]'
      local connection = conn.open(tcp)
      connection:send(request("echo", params, 1) .. "\n")
      assert.is_truthy(connection:line():find(params, 1, true))
    end)

    it("that aren't JSON close the stream when they come first", function()
      for _, url in ipairs { tcp, unix, server.urls[3] } do
        for _, first in ipairs { "hello", "GET / HTTP/1.1\r", "EHLO x", "}" } do
          local before = count()
          is_ended(conn.open(url):send(first .. "\n" .. COUNT_UP .. "\n"))
          assert.equal(before, count())
        end
      end
    end)

    it("that look like HTTP close it at any time", function()
      local http = wire.http.wrap("\n" .. COUNT_UP .. "\n")
      for _, url in ipairs { tcp, unix, server.urls[3] } do
        local before = count()
        local connection = conn.open(url):send(SUBTRACT .. "\n" .. http)
        assert.equal(ANSWER, connection:line())
        is_ended(connection)
        is_ended(conn.open(url):send(http))
        is_ended(conn.open(url):send("\n\n" .. http))
        assert.equal(before, count())
      end
    end)
  end)

  describe("messages with a header", function()
    it("may bear other fields and any case", function()
      for _, url in ipairs { tcp, unix } do
        local connection = conn.open(url)
        for _, head in ipairs {
          "Content-Length: %d\r\n",
          "content-length:%d\r\n",
          "CONTENT-LENGTH:   %d  \r\n",
          "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n",
          "Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc\r\n",
        } do
          connection:send(head:format(#SUBTRACT) .. "\r\n" .. SUBTRACT)
          assert.equal(ANSWER, wire.header.read(connection))
        end
      end
    end)

    it("are answered with a header that counts bytes", function()
      local connection = conn.open(tcp)
      connection:send(wire.header.wrap(request("echo", '["é😀"]', 1))):finish()
      local body = '{"jsonrpc":"2.0","result":["é😀"],"id":1}'
      assert.equal(("Content-Length: %d\r\n\r\n%s"):format(#body, body), connection:rest())
    end)

    it("in one packet are answered in order", function()
      local list = {}
      for i = 1, 200 do list[i] = wire.header.wrap(request("echo", "[" .. i .. "]", i)) end
      local connection = conn.open(tcp):send(table.concat(list))
      for i = 1, 200 do
        assert.equal(('{"jsonrpc":"2.0","result":[%d],"id":%d}'):format(i, i),
          wire.header.read(connection))
      end
    end)

    it("may hold JSON on many lines", function()
      local connection = conn.open(tcp):send(wire.header.wrap("\r\n" .. SUBTRACT:gsub(",", ",\n")))
      assert.equal(ANSWER, wire.header.read(connection))
    end)

    it("that isn't JSON are answered, and the next one is heard", function()
      local connection = conn.open(tcp):send(wire.header.wrap("nonsense") ..
        wire.header.wrap("") .. wire.header.wrap(SUBTRACT))
      assert.matches("%-32700", wire.header.read(connection))
      assert.matches("%-32700", wire.header.read(connection))
      assert.equal(ANSWER, wire.header.read(connection))
    end)

    it("whose length lies end the conversation, and nothing behind is run", function()
      local before = count()
      for _, head in ipairs {
        "Content-Length: -5", "Content-Length: abc", "Content-Length: 5x", "Content-Length:",
        "Content-Length: 0x10", "Content-Length: 1e3", "Content-Length: +5",
        "Content-Length: 99999999999999999999999999", "Content-Type: application/json",
        "Content-Length: 2\r\nContent-Length: 3", "Content-Length 5", "nonsense",
      } do
        local connection = conn.open(server.urls[4])
        connection:send(head .. "\r\n\r\n{}\n" .. wire.header.wrap(COUNT_UP))
        local rest = is_ended(connection)
        if rest ~= "" then assert.matches("%-32[67]00", rest) end
      end
      assert.equal(before, count())
    end)

    it("that promise more than comes are no messages", function()
      local connection = conn.open(tcp)
      connection:send("Content-Length: 1000\r\n\r\n" .. SUBTRACT):finish()
      is_ended(connection)
      is_ended(conn.open(tcp):send("Content-Length: 10\r\n"):finish())
      is_ended(conn.open(tcp):send("Content-Le"):finish())
    end)
  end)

  describe("the framing", function()
    it("is found by the first bytes", function()
      for _, url in ipairs { tcp, unix } do
        for _, first in ipairs { "", " ", "\n", "\r\n\t" } do
          assert.equal(ANSWER, conn.open(url):send(first .. SUBTRACT .. "\n"):line())
          assert.matches(ANSWER, conn.open(url):send(first .. "[" .. SUBTRACT .. "]\n"):line(),
            1, true)
        end
        local connection = conn.open(url):send(wire.header.wrap(SUBTRACT))
        assert.equal(ANSWER, wire.header.read(connection))
        connection = conn.open(url):send((wire.header.wrap(SUBTRACT):gsub("^C", "c")))
        assert.equal(ANSWER, wire.header.read(connection))
      end
    end)

    it("is as set in the URL", function()
      assert.equal(ANSWER, conn.open(server.urls[3]):send(SUBTRACT .. "\n"):line())
      is_ended(conn.open(server.urls[3]):send(wire.header.wrap(SUBTRACT)))
      local connection = conn.open(server.urls[4]):send(wire.header.wrap(SUBTRACT))
      assert.equal(ANSWER, wire.header.read(connection))
      is_ended(conn.open(server.urls[4]):send(SUBTRACT .. "\n\n" .. SUBTRACT .. "\n\r\n\r\n"))
    end)
  end)

  describe("half-close", function()
    it("leaves answers their way", function()
      for _, url in ipairs { tcp, unix } do
        local connection = conn.open(url)
        connection:send(request("wait", '["h"]', 1) .. "\n" .. SUBTRACT .. "\n"):finish()
        assert.equal(ANSWER, connection:line())
        assert.is_true(support.client.open(tcp):result("release", '["h"]'))
        assert.matches('"result":"h"', connection:line())
        assert.equal("", connection:rest())
      end
    end)
  end)

  it("a reset in the middle of everything harms nobody", function()
    for _ = 1, 20 do
      local connection = conn.open(tcp, { reading = false })
      connection:send((SUBTRACT .. "\n"):rep(100) .. request("wait", '["gone"]', 1) .. "\n{")
      connection:flush():reset()
    end
    assert.equal(19, support.client.open(unix):result("subtract", "[42,23]"))
  end)
end)

describe("on stdio", function()
  after_each(support.clean)

  local NOISY = {
    ["init.lua"] = [[
      local M = {}
      print("at load")
      function M.noise()
        print("printed")
        io.write("written\n")
        io.stdout:write("more\n")
        os.execute("echo executed")
        return "quiet"
      end
      function M.slow() rpc.sleep(0.2) return "slow" end
      return M]],
  }

  local function start(tree, options)
    options = options or {}
    options.listen, options.stdin = { options.url or "stdio:" }, true
    local self = support.serve(tree, options)
    return conn.stdio(self), self
  end

  it("the program ends with stdin, once the last answer is written", function()
    local connection, self = start(NOISY)
    connection:send(request("slow", nil, 1) .. "\n" .. request("slow", nil, 2)):finish()
    assert.matches('"result":"slow","id":1}$', connection:line())
    assert.matches('"result":"slow","id":2}$', connection:line())
    assert.equal("", connection:rest())
    assert.same({ 0, 0 }, { self:wait_exit() })
  end)

  it("it ends at once when stdin is empty", function()
    local connection, self = start(NOISY)
    assert.equal("", connection:finish():rest())
    assert.equal(0, (self:wait_exit()))
  end)

  it("nothing that a script prints comes between the messages", function()
    for _, framing in ipairs { "line", "header" } do
      local connection, self = start(NOISY, { dev = true, args = { "--log", "debug" } })
      local session = support.transports.stream(connection, framing)
      assert.equal("quiet", support.client.over(session):result("noise"))
      assert.equal("", connection:finish():rest())
      self:wait_exit()
      for _, word in ipairs { "at load", "printed", "written", "more", "executed" } do
        assert.is_truthy(self.err:find(word, 1, true), word)
      end
    end
  end)

  it("the framing can be set", function()
    local connection = start(NOISY, { url = "stdio:?framing=header" })
    local session = support.transports.stream(connection, "header")
    assert.equal("quiet", support.client.over(session):result("noise"))
  end)

  it("a first line that isn't JSON gets an answer", function()
    local connection = start(NOISY)
    connection:send("hello\n")
    assert.matches("%-32700", connection:line())
  end)

  it("a peer that goes away ends the program", function()
    local connection, self = start(NOISY)
    connection:send(request("slow", nil, 1) .. "\n")
    connection:close()
    self:wait_exit()
  end)

  it("it serves sockets at the same time", function()
    local self = support.serve("tests/spec/methods",
      { listen = { "stdio:", "tcp://127.0.0.1:0" }, stdin = true })
    local connection = conn.stdio(self):send(SUBTRACT .. "\n")
    assert.equal(ANSWER, connection:line())
    local url = self.urls[1] == "stdio:" and self.urls[2] or self.urls[1]
    assert.equal(19, support.client.open(url):result("subtract", "[42,23]"))
  end)
end)
