-- HTTP/1.1 from outside: statuses, bodies, pipelining.
local support = require "support"
local web = require "support.web"
local conn, wire = support.conn, support.wire
local exchange, post = web.exchange, web.post

local SUBTRACT = '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}'
local ANSWER = '{"jsonrpc":"2.0","result":19,"id":1}'
local NOTIFY = '{"jsonrpc":"2.0","method":"update"}'

describe("HTTP", function()
  setup(web.start)
  teardown(support.clean)
  after_each(web.check)

  describe("answers", function()
    it("a call with 200 and JSON", function()
      local response = post(SUBTRACT)
      assert.equal(200, response.status)
      assert.equal(ANSWER, response.body)
      assert.matches("^application/json", response.headers["content-type"])
      assert.equal(tostring(#ANSWER), response.headers["content-length"])
    end)

    it("every JSON-RPC outcome with 200", function()
      for text, code in pairs {
        ["{"] = -32700, ["[]"] = -32600, ["{}"] = -32600, ["1"] = -32600,
        ['{"jsonrpc":"2.0","method":"nope","id":1}'] = -32601,
        ['{"jsonrpc":"2.0","method":"boom","id":1}'] = -32603,
        ['[{"jsonrpc":"2.0","method":"boom","id":1}]'] = -32603,
      } do
        local response = post(text)
        assert.equal(200, response.status)
        assert.is_truthy(response.body:find('"code":' .. code, 1, true), response.body)
      end
    end)

    it("notifications with 204 and no body", function()
      for _, text in ipairs { NOTIFY, "[" .. NOTIFY .. "," .. NOTIFY .. "]" } do
        local response, connection = post(text)
        assert.equal(204, response.status)
        assert.is_nil(response.headers["content-length"])
        connection:send(wire.http.wrap(SUBTRACT))
        assert.equal(ANSWER, wire.http.read(connection).body)
      end
    end)

    it("many calls on one connection", function()
      local connection = conn.open(web.url)
      for _ = 1, 50 do
        connection:send(wire.http.wrap(SUBTRACT))
        assert.equal(ANSWER, wire.http.read(connection).body)
      end
    end)

    it("and closes when asked to", function()
      local response, connection = post(SUBTRACT, { Connection = "close" })
      assert.equal(ANSWER, response.body)
      assert.equal("close", response.headers.connection:lower())
      assert.equal("", connection:rest())
    end)

    it("HTTP/1.0, which needs no Host, and closes", function()
      local response, connection = post(SUBTRACT, { Host = false }, "POST / HTTP/1.0")
      assert.equal(ANSWER, response.body)
      assert.equal("", connection:rest())
    end)

    it("HTTP/1.0 with keep-alive, and stays", function()
      local bytes = wire.http.wrap(SUBTRACT, { Connection = "keep-alive" }, "POST / HTTP/1.0")
      local response, connection = exchange(bytes)
      assert.equal(ANSWER, response.body)
      assert.equal("keep-alive", (response.headers.connection or ""):lower())
      connection:send(bytes)
      assert.equal(ANSWER, wire.http.read(connection).body)
    end)

    it("header names and values in any case", function()
      local response = exchange("POST / HTTP/1.1\r\nhOST: LocalHost\r\n" ..
        "CONTENT-TYPE: Application/JSON; charset=UTF-8\r\ncontent-length:" .. #SUBTRACT ..
        "\r\n\r\n" .. SUBTRACT)
      assert.equal(ANSWER, response.body)
    end)

    it("a request behind an empty line", function()
      assert.equal(ANSWER, exchange("\r\n" .. wire.http.wrap(SUBTRACT)).body)
    end)

    it("a target in absolute form", function()
      local line = ("POST http://127.0.0.1:%d/ HTTP/1.1"):format(web.port)
      assert.equal(200, post(SUBTRACT, { Host = "127.0.0.1:" .. web.port }, line).status)
    end)

    it("a request that would rather upgrade to something it doesn't speak", function()
      local response = post(SUBTRACT, {
        Connection = "Upgrade, HTTP2-Settings", Upgrade = "h2c", ["HTTP2-Settings"] = "AAMAAABk",
      })
      assert.equal(200, response.status)
      assert.equal(ANSWER, response.body)
    end)
  end)

  describe("health", function()
    it("is told to GET and HEAD", function()
      for _, method in ipairs { "GET", "HEAD" } do
        local bytes = wire.http.wrap(nil, nil, method .. " /healthz HTTP/1.1")
        local response, connection = exchange(bytes, method)
        assert.equal(200, response.status)
        connection:send(wire.http.wrap(SUBTRACT))
        assert.equal(ANSWER, wire.http.read(connection).body)
      end
    end)

    it("is told to nobody else", function()
      assert.equal(405, post(SUBTRACT, nil, "POST /healthz HTTP/1.1").status)
    end)
  end)
  describe("reads bodies", function()
    local CHUNKED = { ["Content-Length"] = false, ["Transfer-Encoding"] = "chunked" }

    local function chunked(body)
      local head = wire.http.wrap("", CHUNKED)
      return exchange(head .. body)
    end

    it("in chunks of any size", function()
      for _, size in ipairs { 1, 7, 1000 } do
        assert.equal(ANSWER, chunked(wire.http.chunks(SUBTRACT, size)).body)
      end
    end)

    it("with chunk extensions and trailers", function()
      local body = wire.http.chunks(SUBTRACT, 16):gsub("^(%x+)\r\n", "%1;a=b\r\n")
        :gsub("0\r\n\r\n$", "0\r\nX-Sum: 1\r\n\r\n")
      assert.equal(ANSWER, chunked(body).body)
    end)

    it("of no bytes as no JSON", function()
      for _, text in ipairs { "", " \n" } do
        local response = post(text)
        assert.equal(200, response.status)
        assert.matches("%-32700", response.body)
      end
    end)

    it("that have no length as empty", function()
      local response = exchange("POST / HTTP/1.1\r\nHost: localhost\r\n" ..
        "Content-Type: application/json\r\n\r\n")
      assert.is_truthy(response.status == 411 or
        response.status == 200 and response.body:find("-32700", 1, true), response.block)
    end)

    it("after it said 100 Continue", function()
      local head = wire.http.wrap(SUBTRACT, { Expect = "100-continue" }):sub(1, -#SUBTRACT - 1)
      local response, connection = exchange(head)
      assert.equal(100, response.status)
      connection:send(SUBTRACT)
      assert.equal(ANSWER, wire.http.read(connection).body)
    end)

    it("of a megabyte, in one write and in pieces", function()
      local params = '["' .. ("x"):rep(1 << 20) .. '"]'
      local text = support.client.request("echo", params, 1)
      local connection = conn.open(web.url)
      connection:send(wire.http.wrap(text))
      assert.is_truthy(wire.http.read(connection).body:find(params, 1, true))
      connection:send_bytewise(wire.http.wrap(text), 10000)
      assert.is_truthy(wire.http.read(connection).body:find(params, 1, true))
    end)
  end)

  describe("pipelined", function()
    it("requests in one packet are answered in order", function()
      local list = {}
      for i = 1, 100 do
        list[i] = wire.http.wrap(support.client.request("echo", "[" .. i .. "]", i))
      end
      local connection = conn.open(web.url):send(table.concat(list))
      for i = 1, 100 do
        assert.equal(('{"jsonrpc":"2.0","result":[%d],"id":%d}'):format(i, i),
          wire.http.read(connection).body)
      end
    end)

    it("a slow one keeps its place before a quick one", function()
      local request = support.client.request
      local connection = conn.open(web.url):send(
        wire.http.wrap(request("wait", '["slow"]', 1)) .. wire.http.wrap(SUBTRACT) ..
        wire.http.wrap(NOTIFY) .. wire.http.wrap("{"))
      local other = support.client.open(web.url)
      assert.is_true(other:result("release", '["slow"]'))
      assert.matches('"result":"slow"', wire.http.read(connection).body)
      assert.equal(ANSWER, wire.http.read(connection).body)
      assert.equal(204, wire.http.read(connection).status)
      assert.matches("%-32700", wire.http.read(connection).body)
    end)

    it("good ones are answered before a bad one ends it all", function()
      local connection = conn.open(web.url):send(
        wire.http.wrap(SUBTRACT) .. wire.http.wrap(SUBTRACT) .. "nonsense\r\n\r\n")
      assert.equal(ANSWER, wire.http.read(connection).body)
      assert.equal(ANSWER, wire.http.read(connection).body)
      assert.equal(400, wire.http.read(connection).status)
      assert.equal("", connection:rest())
    end)

    it("errors of the envelope of HTTP stand in their places too", function()
      local connection = conn.open(web.url):send(wire.http.wrap(SUBTRACT) ..
        wire.http.wrap(SUBTRACT, nil, "POST /nowhere HTTP/1.1") .. wire.http.wrap(SUBTRACT))
      assert.equal(200, wire.http.read(connection).status)
      assert.equal(404, wire.http.read(connection).status)
      assert.equal(200, wire.http.read(connection).status)
    end)
  end)

  describe("half-closed", function()
    it("still gets the answer of a call that waits", function()
      local connection = conn.open(web.url)
      connection:send(wire.http.wrap(support.client.request("wait", '["half"]', 1))):finish()
      assert.is_true(support.client.open(web.url):result("release", '["half"]'))
      assert.matches('"result":"half"', wire.http.read(connection).body)
      assert.equal("", connection:rest())
    end)

    it("in the middle of a request is closed, and nothing is run", function()
      local unfinished = wire.http.wrap(SUBTRACT):sub(1, -2)
      for _, bytes in ipairs { "POST", "POST / HTTP/1.1\r\nHo", unfinished } do
        local rest = conn.open(web.url):send(bytes):finish():rest()
        assert.is_nil(rest:find("result", 1, true))
      end
    end)
  end)
end)
