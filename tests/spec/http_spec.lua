-- HTTP/1.1 from outside: statuses, refusals, bodies, pipelining.
local support = require "support"
local conn, wire = support.conn, support.wire

local SUBTRACT = '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}'
local ANSWER = '{"jsonrpc":"2.0","result":19,"id":1}'
local NOTIFY = '{"jsonrpc":"2.0","method":"update"}'
local METHODS = "tests/spec/methods"

local server, url, port

-- Sends bytes on a fresh connection: the response, and the connection.
local function exchange(bytes, method)
  local connection = conn.open(url):send(bytes)
  return wire.http.read(connection, nil, method), connection
end

local function post(text, fields, line)
  return exchange(wire.http.wrap(text, fields, line))
end

-- The request is refused with `status` and the connection ends; nothing that
-- follows on it is looked at.
local function is_refused(status, bytes)
  local response, connection = exchange(bytes .. wire.http.wrap(SUBTRACT))
  assert.equal(status, response.status, bytes:sub(1, 300))
  assert.equal("close", (response.headers.connection or ""):lower())
  assert.equal("", connection:rest())
end

describe("HTTP", function()
  setup(function()
    server = support.serve(METHODS)
    url = server.urls[1]
    port = conn.parse(url).port
  end)
  teardown(support.clean)
  after_each(function()
    conn.clean()
    assert.is_nil(server.code, "the program has ended: " .. server.err)
  end)

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
      local connection = conn.open(url)
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
      local line = ("POST http://127.0.0.1:%d/ HTTP/1.1"):format(port)
      assert.equal(200, post(SUBTRACT, { Host = "127.0.0.1:" .. port }, line).status)
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

  describe("refuses", function()
    it("methods other than POST, and says which to use", function()
      for _, method in ipairs { "GET", "PUT", "DELETE", "PATCH", "HEAD" } do
        local response = exchange(wire.http.wrap(nil, nil, method .. " / HTTP/1.1"), method)
        assert.equal(405, response.status, method)
        assert.matches("POST", response.headers.allow)
      end
    end)

    it("other paths", function()
      for _, path in ipairs { "/x", "/rpc", "//", "/healthz/", "/%2e", "/../" } do
        assert.equal(404, post(SUBTRACT, nil, "POST " .. path .. " HTTP/1.1").status, path)
      end
    end)

    it("other content types", function()
      for _, kind in ipairs {
        "text/plain", "text/json", "application/jsonx", "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x", "application", "", "text/plain; a=application/json",
      } do
        assert.equal(415, post(SUBTRACT, { ["Content-Type"] = kind }).status, kind)
      end
      assert.equal(415, post(SUBTRACT, { ["Content-Type"] = false }).status)
    end)

    it("none of its three content types", function()
      for _, kind in ipairs {
        "application/json", "application/json-rpc", "application/jsonrequest",
        "application/json;charset=utf-8", "APPLICATION/JSON ; charset=\"utf-8\"",
      } do
        assert.equal(200, post(SUBTRACT, { ["Content-Type"] = kind }).status, kind)
      end
    end)

    it("foreign hosts", function()
      for _, host in ipairs {
        "example.com", "example.com:" .. port, "localhost.example.com", "127.0.0.1.nip.io",
        "127.0.0.2",
      } do
        assert.equal(403, post(SUBTRACT, { Host = host }).status, host)
      end
    end)

    it("none of its own hosts, whatever the port", function()
      for _, host in ipairs {
        "localhost", "LOCALHOST", "localhost:" .. port, "localhost:1", "127.0.0.1",
        "127.0.0.1:" .. port,
      } do
        assert.equal(200, post(SUBTRACT, { Host = host }).status, host)
      end
    end)

    it("foreign origins, null among them", function()
      for _, origin in ipairs {
        "http://example.com", "https://example.com", "null", "file://", "http://localhost:1",
        "http://localhost.example.com",
      } do
        local response = post(SUBTRACT, { Origin = origin })
        assert.equal(403, response.status, origin)
        assert.is_nil(response.headers["access-control-allow-origin"])
      end
    end)

    it("not its own origin", function()
      for _, name in ipairs { "127.0.0.1", "localhost" } do
        local host = name .. ":" .. port
        assert.equal(200, post(SUBTRACT, { Host = host, Origin = "http://" .. host }).status)
      end
    end)

    it("and says why, to the caller and once a connection in the log", function()
      local own = support.serve(METHODS)
      local connection = conn.open(own.urls[1])
      local past = 1
      local function is_told(status, why, fields, line)
        for _ = 1, 2 do
          connection:send(wire.http.wrap(SUBTRACT, fields, line))
          local response = wire.http.read(connection)
          assert.equal(status, response.status)
          assert.equal(("%d %s\n"):format(status, why), response.body)
        end
        local _, told = own:wait_log(("request refused  peer=\"?127.0.0.1:%%d+\"? status=%d")
          :format(status), nil, past)
        past = told
        assert.is_truthy(own.err:find('why="' .. why:match("^[^,]+"), 1, true))
      end
      is_told(403, "Origin isn't allowed (http.origins), got http://evil.example",
        { Origin = "http://evil.example" })
      is_told(404, "no endpoint of this path, got /nowhere", nil, "POST /nowhere HTTP/1.1")
      is_told(415, "Content-Type must be application/json, got text/plain",
        { ["Content-Type"] = "text/plain" })
      connection:close()
      local host = post(SUBTRACT, { Host = "example.com" })
      assert.equal("403 Host must be a name of this server (http.hosts), got example.com\n",
        host.body)
      conn.open(own.urls[1]):send("POST / HTTP/1.1\r\nHost : x\r\n\r\n"):rest()
      own:wait_log("request refused .*status=400", nil, past)
      assert.equal(4, select(2, own.err:gsub("request refused", "")))
      assert.is_nil(own.err:find("broken off", 1, true))
    end)

    it("more than it takes, before the body is sent", function()
      local response, connection = exchange(
        wire.http.wrap(nil, { ["Content-Type"] = "application/json",
          ["Content-Length"] = tostring(5 << 20), Expect = "100-continue" }))
      assert.equal(413, response.status)
      assert.equal("", connection:rest())
    end)
  end)

  describe("calls malformed, with 400 and a close,", function()
    local function refuses(title, ...)
      local list = { ... }
      it(title, function()
        for _, bytes in ipairs(list) do is_refused(400, bytes) end
      end)
    end
    local function head(...)
      return "POST / HTTP/1.1\r\n" .. table.concat({ ... }, "\r\n") .. "\r\n\r\n"
    end
    local HOST, JSON = "Host: localhost", "Content-Type: application/json"
    local SIZE = "Content-Length: " .. #SUBTRACT

    refuses("a space before a colon",
      head("Host : localhost", JSON, SIZE) .. SUBTRACT,
      head(HOST, JSON, "Content-Length : " .. #SUBTRACT) .. SUBTRACT,
      head(HOST, JSON, SIZE, "X\t: y") .. SUBTRACT)
    refuses("no Host", head(JSON, SIZE) .. SUBTRACT)
    refuses("two Hosts", head(HOST, HOST, JSON, SIZE) .. SUBTRACT,
      head(HOST, JSON, SIZE, "host: example.com") .. SUBTRACT)
    refuses("folded lines", head(HOST, JSON, SIZE, "X: a", " b") .. SUBTRACT,
      head(HOST, "\tx: y", JSON, SIZE) .. SUBTRACT)
    refuses("chunks in HTTP/1.0", "POST / HTTP/1.0\r\n" .. HOST .. "\r\n" .. JSON ..
      "\r\nTransfer-Encoding: chunked\r\n\r\n" .. wire.http.chunks(SUBTRACT, 10))
    refuses("strange transfer encodings",
      head(HOST, JSON, "Transfer-Encoding: ,chunked") .. wire.http.chunks(SUBTRACT, 10),
      head(HOST, JSON, "Transfer-Encoding: chunked, identity") .. wire.http.chunks(SUBTRACT, 10),
      head(HOST, JSON, "Transfer-Encoding: xchunked") .. wire.http.chunks(SUBTRACT, 10))
    refuses("two spaces in the first line",
      (head(HOST, JSON, SIZE):gsub("POST /", "POST  /")) .. SUBTRACT,
      (head(HOST, JSON, SIZE):gsub("/ HTTP", "/  HTTP")) .. SUBTRACT)
    refuses("a length beside chunks",
      head(HOST, JSON, SIZE, "Transfer-Encoding: chunked") .. wire.http.chunks(SUBTRACT, 10))
    refuses("two lengths", head(HOST, JSON, SIZE, "Content-Length: 3") .. SUBTRACT)
    refuses("lengths that are no numbers",
      head(HOST, JSON, "Content-Length: -1") .. SUBTRACT,
      head(HOST, JSON, "Content-Length: +61") .. SUBTRACT,
      head(HOST, JSON, "Content-Length: abc") .. SUBTRACT,
      head(HOST, JSON, "Content-Length: 0x10") .. SUBTRACT,
      head(HOST, JSON, "Content-Length: 6 1") .. SUBTRACT,
      head(HOST, JSON, "Content-Length: 99999999999999999999999999") .. SUBTRACT)
    refuses("bare line feeds", "POST / HTTP/1.1\n" .. HOST .. "\n" .. JSON .. "\n" .. SIZE ..
      "\n\n" .. SUBTRACT)
    refuses("chunks that are none",
      head(HOST, JSON, "Transfer-Encoding: chunked") .. "zz\r\n{}\r\n0\r\n\r\n",
      head(HOST, JSON, "Transfer-Encoding: chunked") .. "-2\r\n{}\r\n0\r\n\r\n",
      head(HOST, JSON, "Transfer-Encoding: chunked") .. "2\r\n{}xx0\r\n\r\n",
      head(HOST, JSON, "Transfer-Encoding: chunked") .. "fffffffffffffffff\r\n{}\r\n0\r\n\r\n")
    refuses("what isn't HTTP", SUBTRACT .. "\r\n\r\n", "\0\1\2\3\r\n\r\n", "nonsense\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    refuses("a name with characters that no name has", head(HOST, JSON, SIZE, "a(b: c") .. SUBTRACT)
    refuses("a value with a NUL", head(HOST, JSON, SIZE, "a: b\0c") .. SUBTRACT)
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
      local connection = conn.open(url)
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
      local connection = conn.open(url):send(table.concat(list))
      for i = 1, 100 do
        assert.equal(('{"jsonrpc":"2.0","result":[%d],"id":%d}'):format(i, i),
          wire.http.read(connection).body)
      end
    end)

    it("a slow one keeps its place before a quick one", function()
      local request = support.client.request
      local connection = conn.open(url):send(
        wire.http.wrap(request("wait", '["slow"]', 1)) .. wire.http.wrap(SUBTRACT) ..
        wire.http.wrap(NOTIFY) .. wire.http.wrap("{"))
      local other = support.client.open(url)
      assert.is_true(other:result("release", '["slow"]'))
      assert.matches('"result":"slow"', wire.http.read(connection).body)
      assert.equal(ANSWER, wire.http.read(connection).body)
      assert.equal(204, wire.http.read(connection).status)
      assert.matches("%-32700", wire.http.read(connection).body)
    end)

    it("good ones are answered before a bad one ends it all", function()
      local connection = conn.open(url):send(
        wire.http.wrap(SUBTRACT) .. wire.http.wrap(SUBTRACT) .. "nonsense\r\n\r\n")
      assert.equal(ANSWER, wire.http.read(connection).body)
      assert.equal(ANSWER, wire.http.read(connection).body)
      assert.equal(400, wire.http.read(connection).status)
      assert.equal("", connection:rest())
    end)

    it("errors of the envelope of HTTP stand in their places too", function()
      local connection = conn.open(url):send(wire.http.wrap(SUBTRACT) ..
        wire.http.wrap(SUBTRACT, nil, "POST /nowhere HTTP/1.1") .. wire.http.wrap(SUBTRACT))
      assert.equal(200, wire.http.read(connection).status)
      assert.equal(404, wire.http.read(connection).status)
      assert.equal(200, wire.http.read(connection).status)
    end)
  end)

  describe("half-closed", function()
    it("still gets the answer of a call that waits", function()
      local connection = conn.open(url)
      connection:send(wire.http.wrap(support.client.request("wait", '["half"]', 1))):finish()
      assert.is_true(support.client.open(url):result("release", '["half"]'))
      assert.matches('"result":"half"', wire.http.read(connection).body)
      assert.equal("", connection:rest())
    end)

    it("in the middle of a request is closed, and nothing is run", function()
      local unfinished = wire.http.wrap(SUBTRACT):sub(1, -2)
      for _, bytes in ipairs { "POST", "POST / HTTP/1.1\r\nHo", unfinished } do
        local rest = conn.open(url):send(bytes):finish():rest()
        assert.is_nil(rest:find("result", 1, true))
      end
    end)
  end)
end)

describe("HTTP settings:", function()
  after_each(support.clean)

  local function ask(self, fields, text, line)
    local connection = conn.open(self.urls[1]):send(wire.http.wrap(text, fields, line))
    return wire.http.read(connection)
  end

  it("a path in the URL", function()
    local self = support.serve(METHODS, { listen = { "http://127.0.0.1:0/rpc/v1" } })
    assert.matches(":%d+/rpc/v1$", self.urls[1])
    assert.equal(200, ask(self, nil, SUBTRACT, "POST /rpc/v1 HTTP/1.1").status)
    assert.equal(404, ask(self, nil, SUBTRACT).status)
    assert.equal(200, ask(self, nil, nil, "GET /healthz HTTP/1.1").status)
  end)

  it("the status of answered notifications", function()
    for _, status in ipairs { 200, 202, 204 } do
      local self = support.serve(METHODS,
        { config = ("{ http = { notification_status = %d } }"):format(status) })
      local connection = conn.open(self.urls[1]):send(
        wire.http.wrap(NOTIFY) .. wire.http.wrap(SUBTRACT))
      local response = wire.http.read(connection)
      assert.equal(status, response.status)
      assert.equal("", response.body)
      assert.equal(ANSWER, wire.http.read(connection).body)
    end
  end)

  it("a detailed log, in which it says what is no JSON", function()
    local self = support.serve(METHODS, { config = '{ log = { level = "debug" } }' })
    assert.equal(200, ask(self, {}, '{"a').status)
    self:wait_log('message is no JSON .* what="unexpected end of text at byte 3"$')
  end)

  it("further host names", function()
    local self = support.serve(METHODS, { config = '{ http = { hosts = { "rpc.example.com" } } }' })
    assert.equal(200, ask(self, { Host = "rpc.example.com" }, SUBTRACT).status)
    assert.equal(200, ask(self, { Host = "RPC.example.com:8080" }, SUBTRACT).status)
    assert.equal(403, ask(self, { Host = "example.com" }, SUBTRACT).status)
  end)

  it("allowed origins, with what a browser asks for", function()
    local self = support.serve(METHODS,
      { config = '{ http = { origins = { "https://app.example.com" } } }' })
    local response = ask(self, { Origin = "https://app.example.com" }, SUBTRACT)
    assert.equal(200, response.status)
    assert.equal("https://app.example.com", response.headers["access-control-allow-origin"])
    assert.equal(403, ask(self, { Origin = "https://example.com" }, SUBTRACT).status)
    local preflight = { Origin = "https://app.example.com",
      ["Access-Control-Request-Method"] = "POST",
      ["Access-Control-Request-Headers"] = "content-type" }
    response = ask(self, preflight, nil, "OPTIONS / HTTP/1.1")
    assert.equal(204, response.status)
    assert.equal("https://app.example.com", response.headers["access-control-allow-origin"])
    assert.matches("POST", response.headers["access-control-allow-methods"])
    assert.matches("content%-type", response.headers["access-control-allow-headers"]:lower())
    assert.equal("content-type", response.headers["access-control-allow-headers"])
    local more = support.serve(METHODS, { config =
      '{ http = { origins = { "https://app.example.com" }, '
      .. 'headers = { "authorization", "x-key" } } }' })
    response = ask(more, preflight, nil, "OPTIONS / HTTP/1.1")
    assert.equal("content-type, authorization, x-key",
      response.headers["access-control-allow-headers"])
    preflight.Origin = "https://example.com"
    assert.equal(403, ask(self, preflight, nil, "OPTIONS / HTTP/1.1").status)
  end)

  it("curl's own content type in dev mode, unless a browser sent it", function()
    local form = { ["Content-Type"] = "application/x-www-form-urlencoded" }
    local self = support.serve(METHODS, { dev = true })
    assert.equal(200, ask(self, form, SUBTRACT).status)
    local host = "127.0.0.1:" .. conn.parse(self.urls[1]).port
    for name, field in pairs {
      Origin = "http://" .. host, Referer = "http://" .. host .. "/",
      ["Sec-Fetch-Site"] = "cross-site", ["Sec-Fetch-Mode"] = "no-cors",
    } do
      local fields = { Host = host, ["Content-Type"] = form["Content-Type"], [name] = field }
      assert.equal(415, ask(self, fields, SUBTRACT).status, name)
    end
  end)

  it("any Host on a Unix socket", function()
    local socket = support.files.temp() .. "/s"
    local self = support.serve(METHODS, { listen = { "http+unix:" .. socket } })
    for _, host in ipairs { "localhost", "example.com", "x" } do
      assert.equal(200, ask(self, { Host = host }, SUBTRACT).status)
    end
  end)
end)
