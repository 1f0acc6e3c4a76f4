-- The other side of a conversation, called from Lua, on every transport.
local cjson = require "cjson"
local support = require "support"
local client, transports = support.client, support.transports

local METHODS = {
  ["init.lua"] = [[
    local M, kept = {}, rpc.state("kept")
    local function peer() return rpc.peer() end

    function M.ask(method, params, timeout)
      return peer():call(method, params, { timeout = timeout })
    end
    function M.nest(n)
      if n == 0 then return 0 end
      return 1 + peer():call("nest", { n - 1 })
    end
    function M.tell(method, params) peer():notify(method, params) end
    function M.fields()
      local p = peer()
      return { id = p.id, transport = p.transport, address = p.address, closed = p:closed() }
    end
    function M.same() local p = peer() rpc.sleep(0.01) return rawequal(p, peer()) end
    function M.count() local d = peer().data d.n = (d.n or 0) + 1 return d.n end
    function M.many(n)
      local tasks, answers = {}, rpc.array {}
      for i = 1, n do
        tasks[i] = rpc.spawn(function() return peer():call("give", { i }) end)
      end
      for i, task in ipairs(tasks) do answers[i] = task:wait() end
      return answers
    end
    function M.close(reason) peer():close(reason) return "closing" end
    function M.keep() kept.peer = peer() end
    function M.kept()
      local p = kept.peer
      local ok, e = pcall(function() return p:call("anything") end)
      return { closed = p:closed(), ok = ok, code = e.code, message = e.message,
        id = p.id, n = p.data.n, transport = p.transport }
    end
    function M.waiting()
      local ok, e = pcall(function() return peer():call("never") end)
      kept.why = e
      kept.closed = peer():closed()
      error(e)
    end
    function M.why() return kept.why and { code = kept.why.code, closed = kept.closed } end
    function M.wrong() peer():close("\xff") end
    function M.bad() peer():call("m", { a = { print } }) end
    return M]],
}

local server

-- A session on the transport; where `fresh`, of a host of its own.
local function open(transport)
  local url = transport.url:gsub("DIR", support.files.temp())
  local is_stdio = url == "stdio:"
  if is_stdio then url = "stdio:?framing=" .. transport.framing end
  server = support.serve(METHODS, { listen = { url, "tcp://127.0.0.1:0" }, stdin = is_stdio })
  if not is_stdio then return transports.open(server.urls[1], transport.framing) end
  return transports.stream(support.conn.stdio(server), transport.framing)
end

local function other()
  return client.open(server.urls[#server.urls])
end

-- The next message that comes, decoded.
local function hear(session)
  return cjson.decode((session:next()))
end

local function answer(session, id, result)
  session:send(('{"jsonrpc":"2.0","result":%s,"id":%d}'):format(result, id))
end

local function spoken_to(transport)
  local session

  before_each(function() session = open(transport) end)
  after_each(support.clean)

  it("answers a call while its own call waits", function()
    session:send(client.request("ask", '["sum",[1,2]]', 1))
    local call = hear(session)
    assert.same({ jsonrpc = "2.0", method = "sum", params = { 1, 2 }, id = 1 }, call)
    answer(session, call.id, '{"three":[3,null]}')
    assert.equal('{"jsonrpc":"2.0","result":{"three":[3,null]},"id":1}', session:next())
  end)

  it("gives the error of its answer to the caller", function()
    session:send(client.request("ask", '["fail"]', 1))
    session:send(('{"jsonrpc":"2.0","error":{"code":5,"message":"no","data":[1]},"id":%d}')
      :format(hear(session).id))
    assert.same({ code = 5, message = "no", data = { 1 } }, hear(session).error)
  end)

  it("is sent notifications", function()
    session:send(client.request("tell", '["news",{"a":1}]', 1))
    assert.same({ jsonrpc = "2.0", method = "news", params = { a = 1 } }, hear(session))
    assert.equal(1, hear(session).id)
  end)

  it("is one object, with its fields and its data", function()
    local there = client.over(session)
    local fields = there:result("fields")
    assert.is_false(fields.closed)
    assert.equal(transport.name:match("^%a+"), fields.transport)
    assert.is_number(fields.id)
    assert.is_true(there:result("same"))
    assert.equal(1, there:result("count"))
    assert.equal(2, there:result("count"))
    assert.equal(1, other():result("count"))
  end)

  it("calls and is called in one another, a hundred deep", function()
    session:send(client.request("nest", "[50]", 1000))
    for n = 49, 0, -1 do -- each call of theirs is answered by a call of ours
      local call = hear(session)
      assert.same({ n }, call.params)
      if n == 0 then
        answer(session, call.id, "0")
      else
        session:send(client.request("nest", ("[%d]"):format(n), 2000 + call.id))
      end
    end
    for n = 1, 50 do
      local message = hear(session)
      assert.equal(n, message.result)
      if n < 50 then answer(session, message.id - 2000, tostring(n)) end
    end
  end)

  it("answers a thousand calls in another order", function()
    session:send(client.request("many", "[1000]", 1))
    local ids, expected = {}, {}
    for i = 1, 1000 do
      local call = hear(session)
      ids[i], expected[i] = call.id, call.params[1]
    end
    for i = 1000, 1, -1 do answer(session, ids[i], tostring(expected[i])) end
    local result = hear(session).result
    for i = 1, 1000 do assert.equal(i, result[i]) end
  end)

  it("is told when nobody waits any more", function()
    session:send(client.request("ask", '["slow",[],0.05]', 1))
    local call = hear(session)
    local cancel, late = hear(session), hear(session)
    if cancel.id then cancel, late = late, cancel end
    assert.same({ jsonrpc = "2.0", method = "$/cancelRequest", params = { id = call.id } }, cancel)
    assert.equal(-32051, late.error.code)
    answer(session, call.id, "1")
    assert.equal(1, client.over(session):result("count"))
  end)

  it("has its waits end when it cancels", function()
    session:send(client.request("ask", '["slow"]', 7))
    local call = hear(session)
    session:send(client.request("$/cancelRequest", '{"id":7}'))
    local cancel, ended = hear(session), hear(session)
    if cancel.id then cancel, ended = ended, cancel end
    assert.equal(call.id, cancel.params.id)
    assert.same({ code = -32800, message = "Request cancelled" }, ended.error)
  end)

  it("is closed by a script, after the answers", function()
    session:send(client.request("keep", nil, 1))
    hear(session)
    client.over(session):result("count")
    session:send(client.request("close", '["enough"]', 2))
    assert.equal("closing", hear(session).result)
    if transport.framing == "ws" then
      local code, reason = support.wire.ws.read_close(session.connection)
      assert.equal(1000, code)
      assert.equal("enough", reason)
      session.connection:send(support.wire.ws.frame(string.pack(">I2", 1000), 8))
    end
    session.connection:rest()
    if transport.url == "stdio:" then return end
    local kept = other():result("kept")
    assert.same({ closed = true, ok = false, code = -32057, message = "The peer went away",
      id = kept.id, n = 1, transport = kept.transport }, kept)
  end)

  it("ends the calls that wait for it when it dies", function()
    session:send(client.request("waiting", nil, 1))
    hear(session)
    session:close()
    if transport.url == "stdio:" then return end
    local why = support.loop.wait(function()
      local w = other():result("why")
      return w ~= cjson.null and w
    end)
    assert.is_true(why.code == -32057 or why.code == -32800, why.code)
  end)

  it("is told nothing of what can't be written", function()
    assert.equal(-32603, client.over(session):failure("bad").code)
    server:wait_log("params%.a%[1%]: a function")
    assert.equal(-32603, client.over(session):failure("wrong").code)
    server:wait_log("reason: not valid UTF%-8")
  end)
end

for _, transport in ipairs(transports.list) do
  if not transport.name:find("^http") then
    describe("a peer on " .. transport.name, function() spoken_to(transport) end)
  end
end

describe("a peer on HTTP", function()
  local there
  after_each(support.clean)

  it("can't be called, and says so", function()
    there, server = support.serve_client(METHODS)
    assert.equal(-32603, there:failure("ask", '["x"]').code)
    server:wait_log("http can't carry calls to the caller; use a WebSocket, TCP")
    assert.equal(-32603, there:failure("tell", '["x"]').code)
  end)

  it("has its connection closed behind the answer", function()
    there, server = support.serve_client(METHODS)
    local connection = support.conn.open(server.urls[1])
    connection:send(support.wire.http.wrap(client.request("close", nil, 1)))
    local response = support.wire.http.read(connection)
    assert.matches('"closing"', response.body)
    assert.equal("close", response.headers.connection)
    assert.equal("", connection:rest())
  end)

  it("lives for one call", function()
    there, server = support.serve_client(METHODS)
    assert.equal("http", there:result("fields").transport)
    assert.is_true(there:result("same"))
    assert.equal(1, there:result("count"))
    assert.equal(1, there:result("count"))
    there:result("keep")
    assert.is_true(there:result("kept").closed)
  end)
end)
