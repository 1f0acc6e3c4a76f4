-- Every limit of sizes and counts at its edge: the last that passes, the first
-- that doesn't, and that others are served meanwhile.
local cjson = require "cjson"
local support = require "support"
local bounds = require "support.bounds"
local client, conn, loop, wire = support.client, support.conn, support.loop, support.wire
local serve, is_serving, request_of = bounds.serve, bounds.is_serving, bounds.request_of
local post, holds_less = bounds.post, bounds.holds_less
local request = client.request

local SUBTRACT = '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}'
local ANSWER = '{"jsonrpc":"2.0","result":19,"id":1}'

after_each(support.clean)

describe("limits.message", function()
  local self
  before_each(function() self = serve("message = 1000") end)

  it("lets through what is just as long", function()
    local text = request_of(1000)
    assert.equal(1000, #text)
    assert.matches('"result":19', client.open(self.urls[1]):ask(text))
    assert.matches('"result":19', client.open(self.urls[1], "header"):ask(text))
    assert.matches('"result":19', client.open(self.urls[2]):ask(text))
    local chunks = wire.http.wrap("", { ["Content-Length"] = false,
      ["Transfer-Encoding"] = "chunked" }) .. wire.http.chunks(text, 100)
    assert.equal(200, (post(self, chunks).status))
  end)

  it("is answered on streams, and the stream goes on", function()
    for _, framing in ipairs { "line", "header" } do
      for _, size in ipairs { 1001, 5000, 200000 } do
        local there = client.open(self.urls[1], framing)
        local failure = cjson.decode(there:ask(request_of(size))).error
        assert.equal(-32600, failure.code)
        assert.matches("message", failure.message .. tostring(failure.data))
        assert.equal(ANSWER, there:ask(SUBTRACT))
      end
    end
  end)

  it("is answered 413 on HTTP, chunked or not", function()
    for _, size in ipairs { 1001, 200000 } do
      assert.equal(413, (post(self, wire.http.wrap(request_of(size))).status))
      local head = wire.http.wrap("", { ["Content-Length"] = false,
        ["Transfer-Encoding"] = "chunked" })
      assert.equal(413, (post(self, head .. wire.http.chunks(request_of(size), 500)).status))
    end
    is_serving(self)
  end)
end)

describe("limits.depth", function()
  it("counts every bracket, and is named in the answer", function()
    local self = serve("depth = 10")
    for i = 1, 2 do
      local there = client.open(self.urls[i])
      -- The envelope is one level.
      local deep = ("["):rep(9) .. ("]"):rep(9)
      assert.equal(deep, there:raw("echo", deep))
      local failure = cjson.decode(there:ask(request("echo", "[" .. deep .. "]", 1)))
      assert.equal(-32600, failure.error.code)
      assert.matches("deep", failure.error.message)
      assert.equal(ANSWER, there:ask(SUBTRACT))
    end
  end)

  it("is 128 by default; a million brackets are nothing special", function()
    local self = serve("")
    local there = client.open(self.urls[1])
    local deep = ("["):rep(127) .. ("]"):rep(127)
    assert.equal(deep, there:raw("echo", deep))
    assert.matches("%-32600", there:ask(request("echo", "[" .. deep .. "]", 1)))
    assert.matches("%-32600", there:ask(("["):rep(1000000)))
    assert.matches("%-32600", there:ask(('{"a":'):rep(500000)))
    assert.equal(ANSWER, there:ask(SUBTRACT))
  end)
end)

describe("limits.batch", function()
  it("is checked before any entry is run, and named in the answer", function()
    local self = serve("batch = 5")
    local entry = request("count.up")
    for i = 1, 2 do
      local there = client.open(self.urls[i])
      there.session:send("[" .. (entry .. ","):rep(5):sub(1, -2) .. "]")
      assert.equal(i * 5, there:result("count.get"))
      local failure = cjson.decode(there:ask("[" .. (entry .. ","):rep(6):sub(1, -2) .. "]"))
      assert.equal(-32600, failure.error.code)
      assert.matches("batch", failure.error.message .. tostring(failure.error.data))
      assert.equal(cjson.null, failure.id)
      assert.equal(i * 5, there:result("count.get"))
    end
  end)

  it("is 1000 by default", function()
    local there = client.open(serve("").urls[1])
    assert.equal(1000, #cjson.decode(there:ask("[" .. ("1,"):rep(999) .. "1]")))
    assert.matches("batch", there:ask("[" .. ("1,"):rep(1000) .. "1]"))
  end)
end)

describe("limits.reply", function()
  it("ends with the last byte of the whole reply", function()
    local self = serve("reply = 1000")
    for i = 1, 2 do
      local there = client.open(self.urls[i])
      local frame = #'{"jsonrpc":"2.0","result":"","id":1}'
      assert.equal(1000, #there:ask(request("text", "[" .. 1000 - frame .. "]", 1)))
      local failure = cjson.decode(there:ask(request("text", "[" .. 1001 - frame .. "]", 1)))
      assert.equal(-32052, failure.error.code)
      assert.equal(1, failure.id)
      assert.equal(-32052, there:failure("text", "[10000000]").code)
      assert.equal(ANSWER, there:ask(SUBTRACT))
    end
  end)

  it("bounds a batch as a whole", function()
    local there = client.open(serve("reply = 1000").urls[1])
    local entries = {}
    for i = 1, 20 do entries[i] = request("text", "[200]", i) end
    local text = there:ask("[" .. table.concat(entries, ",") .. "]")
    assert.is_truthy(text:find("-32052", 1, true), text)
    assert.is_true(#text < 5000)
    cjson.decode(text)
    assert.equal(ANSWER, there:ask(SUBTRACT))
  end)
end)

describe("limits.in_flight", function()
  it("stops the reading of one peer until a call of its own ends", function()
    local self = serve("in_flight = 4")
    local connection = conn.open(self.urls[1])
    for i = 1, 4 do connection:send(request("wait", '["n' .. i .. '"]', i) .. "\n") end
    connection:send(request("count.up", nil, 5) .. "\n")
    local other = client.open(self.urls[1])
    for _ = 1, 20 do other:result("subtract", "[42,23]") end
    assert.equal(0, other:result("count.get"))
    assert.equal("", connection.data)
    other:result("release", '["n2"]')
    local lines = table.concat(connection:lines(2))
    assert.matches('"result":"n2","id":2', lines)
    assert.matches('"result":1,"id":5', lines)
  end)

  it("counts entries of a batch singly; those beyond it queue", function()
    local there = client.open(serve("in_flight = 4").urls[1])
    local entries = {}
    for i = 1, 20 do entries[i] = request("doze", "[0.01]", i) end
    local answers = cjson.decode(there:ask("[" .. table.concat(entries, ",") .. "]"))
    assert.equal(20, #answers)
    for i, answer in ipairs(answers) do
      assert.equal("awake", answer.result)
      assert.equal(i, answer.id)
    end
  end)
end)

describe("limits.output", function()
  local MANY = 20000
  -- A thousand bytes each way, so that no kernel holds all of them.
  local CALL = request("text", "[1000]", 1):gsub("}$", ',"x":"' .. ("x"):rep(1000) .. '"}\n')

  it("stops the reading of who doesn't read, and all comes in the end", function()
    local self = serve("output = 65536, write_time = 60")
    local before = self:memory()
    local connection = conn.open(self.urls[1], { reading = false })
    for _ = 1, MANY / 100 do connection:send(CALL:rep(100)) end
    for _ = 1, 50 do is_serving(self) end
    assert.is_true(connection.unsent > 0, "it took all requests")
    assert.is_true(holds_less(self:memory() - before, 16 * 2^20), "it holds too much")
    local got, last = 0, ""
    connection.reader:read_start(function(_, data)
      got = got + #(data or "")
      last = data or last
    end)
    local whole = MANY * (1000 + #'{"jsonrpc":"2.0","result":"","id":1}\n')
    loop.wait(function() return got >= whole end, 60, "all answers")
    assert.equal(whole, got)
    assert.matches("\n$", last)
  end)

  it("ends who doesn't read for limits.write_time", function()
    local self = serve("output = 65536, write_time = 0.3")
    local connection = conn.open(self.urls[1], { reading = false })
    for _ = 1, MANY / 100 do connection:send(CALL:rep(100)) end
    loop.wait(function() return connection.send_failed end, nil, "the end of the connection")
    is_serving(self)
  end)
end)

describe("limits.header", function()
  it("is answered 431 on HTTP", function()
    local self = serve("header = 2000")
    local function send(size)
      local bare = wire.http.wrap(SUBTRACT, { "X: " })
      return post(self, wire.http.wrap(SUBTRACT, { "X: " .. ("x"):rep(size - #bare + #SUBTRACT) }))
    end
    assert.equal(200, (send(1900).status))
    local response, connection = send(2100)
    assert.equal(431, response.status)
    assert.equal("", connection:rest())
    assert.equal(431, (send(100000).status))
    is_serving(self)
  end)

  it("holds for many short fields and for a header without end", function()
    local self = serve("header = 2000")
    local many = {}
    for i = 1, 500 do many[i] = "X-" .. i .. ": y" end
    assert.equal(431, (post(self, wire.http.wrap(SUBTRACT, many)).status))
    assert.equal(431, (post(self, "POST /" .. ("x"):rep(5000)).status))
    local stream = conn.open(self.urls[1])
    stream:send("Content-Length: 2\r\n" .. ("X: y\r\n"):rep(5000))
    assert.is_nil(stream:rest():find("result"))
    is_serving(self)
  end)
end)
