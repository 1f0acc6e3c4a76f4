-- HTTP/1.1 from outside: what settings change.
local support = require "support"
local conn, wire = support.conn, support.wire

local SUBTRACT = '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}'
local ANSWER = '{"jsonrpc":"2.0","result":19,"id":1}'
local NOTIFY = '{"jsonrpc":"2.0","method":"update"}'
local METHODS = "tests/spec/methods"

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
