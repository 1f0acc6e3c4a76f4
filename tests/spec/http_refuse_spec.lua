-- HTTP/1.1 from outside: what is refused, and how.
local support = require "support"
local web = require "support.web"
local conn, wire = support.conn, support.wire
local exchange, post = web.exchange, web.post

local SUBTRACT = '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}'
local METHODS = "tests/spec/methods"

-- The request is refused with `status` and the connection ends; nothing that
-- follows on it is looked at.
local function is_refused(status, bytes)
  local response, connection = exchange(bytes .. wire.http.wrap(SUBTRACT))
  assert.equal(status, response.status, bytes:sub(1, 300))
  assert.equal("close", (response.headers.connection or ""):lower())
  assert.equal("", connection:rest())
end

describe("HTTP", function()
  setup(web.start)
  teardown(support.clean)
  after_each(web.check)

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
        "example.com", "example.com:" .. web.port, "localhost.example.com", "127.0.0.1.nip.io",
        "127.0.0.2",
      } do
        assert.equal(403, post(SUBTRACT, { Host = host }).status, host)
      end
    end)

    it("none of its own hosts, whatever the port", function()
      for _, host in ipairs {
        "localhost", "LOCALHOST", "localhost:" .. web.port, "localhost:1", "127.0.0.1",
        "127.0.0.1:" .. web.port,
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
        local host = name .. ":" .. web.port
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
      head(HOST, "\tx: y", JSON, SIZE) .. SUBTRACT,
      head(HOST, JSON, "Transfer-Encoding: chunked") .. "2\r\n{}\r\n0\r\na: b\r\n c: d\r\n\r\n")
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
end)
