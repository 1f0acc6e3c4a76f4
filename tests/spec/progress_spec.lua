-- rpc.progress: what a caller that asked hears before its answer.
local cjson = require "cjson"
local support = require "support"
local client = support.client

after_each(support.clean)

local WORK = [[
  local M = {}
  function M.work(params)
    local sent = rpc.array { rpc.progress({ kind = "begin", title = "t" }) }
    rpc.sleep(0.001)
    sent[2] = rpc.progress({ kind = "end" })
    return sent
  end
  function M.number(params) return rpc.progress(0.5) end
  function M.text(params) return rpc.progress("half") end
  function M.bad(params)
    local ok, e = pcall(rpc.progress, { a = { print } })
    return e
  end
  function M.outside(params)
    return rpc.await(function(resume)
      rpc.after(0, function() resume(rpc.progress(1)) end)
    end)
  end
  -- Helpers that begin at once, later, and in each other.
  function M.gather(params)
    local tasks = {}
    for i = 1, 3 do
      tasks[i] = rpc.spawn(function()
        if i > 1 then rpc.sleep(0.001 * i) end
        if i < 3 then return rpc.progress(i) end
        return rpc.spawn(function() rpc.sleep(0.001) return rpc.progress(i) end):wait()
      end)
    end
    local sent = {}
    for i, task in ipairs(tasks) do sent[i] = task:wait() end
    return sent
  end
  local late
  function M.leave(params)
    late = rpc.spawn(function()
      local goes_on = rpc.progress("on")
      rpc.sleep(0.01)
      return { goes_on, rpc.progress("late") }
    end)
    rpc.sleep(0.001)
    return true
  end
  function M.left() return late:wait() end
  function M.headers(params) rpc.sleep(0.001) return rpc.peer().headers end
  return M]]

local function hear(session)
  return cjson.decode((session:next()))
end

for _, transport in ipairs(support.transports.list) do
  if not transport.name:find("^http") and transport.url ~= "stdio:" then
    describe("progress on " .. transport.name, function()
      local there

      before_each(function()
        local server = support.serve({ ["init.lua"] = WORK },
          { listen = { (transport.url:gsub("DIR", support.files.temp())) } })
        there = client.open(server.urls[1], transport.framing)
      end)

      for _, token in ipairs { "workDoneToken", "partialResultToken", "progressToken" } do
        it("is told by " .. token, function()
          there.session:send(client.request("work", ('{"%s":"t1"}'):format(token), 1))
          local first = hear(there.session)
          assert.equal("$/progress", first.method)
          assert.same({ token = "t1", value = { kind = "begin", title = "t" } }, first.params)
          assert.same({ token = "t1", value = { kind = "end" } }, hear(there.session).params)
          assert.same({ true, true }, hear(there.session).result)
        end)
      end

      it("is told by _meta.progressToken", function()
        there.session:send(client.request("number", '{"_meta":{"progressToken":7}}', 1))
        assert.same({ jsonrpc = "2.0", method = "notifications/progress",
          params = { progressToken = 7, progress = 0.5 } }, hear(there.session))
        assert.is_true(hear(there.session).result)
        assert.equal(-32603, there:failure("text", '{"_meta":{"progressToken":7}}').code)
      end)

      it("is not told when nobody asked", function()
        assert.same({ false, false }, there:result("work", "{}"))
        assert.is_false(there:result("number", "{}"))
        assert.is_false(there:result("outside", '{"workDoneToken":1}'))
      end)

      it("is told by tasks that the call has spawned, until it is answered", function()
        there.session:send(client.request("gather", '{"workDoneToken":"t1"}', 1))
        for i = 1, 3 do
          assert.same({ token = "t1", value = i }, hear(there.session).params)
        end
        assert.same({ true, true, true }, hear(there.session).result)
        there.session:send(client.request("leave", '{"workDoneToken":"t2"}', 2))
        assert.same({ token = "t2", value = "on" }, hear(there.session).params)
        assert.is_true(hear(there.session).result)
        assert.same({ true, false }, there:result("left", "[]"))
      end)

      it("names what can't be written", function()
        assert.matches("value%.a%[1%]: a function", there:result("bad", '{"workDoneToken":1}'))
      end)
    end)
  end
end

describe("on HTTP", function()
  it("progress can't be told", function()
    local there = support.serve_client { ["init.lua"] = WORK }
    assert.same({ false, false }, there:result("work", '{"workDoneToken":1}'))
  end)

  it("a call has its request's headers, after waits too", function()
    local server = support.serve { ["init.lua"] = WORK }
    local connection = support.conn.open(server.urls[1])
    connection:send(support.wire.http.wrap(client.request("headers", "{}", 1),
      { ["X-One"] = "1", "X-Two: a", "x-two: b" }))
    local headers = cjson.decode(support.wire.http.read(connection).body).result
    assert.equal("1", headers["x-one"])
    assert.equal("a, b", headers["x-two"])
    assert.equal("application/json", headers["content-type"])
  end)
end)

describe("headers", function()
  it("of a WebSocket are its handshake's", function()
    local server = support.serve { ["init.lua"] = WORK }
    local connection = support.wire.ws.open(support.conn.open(server.urls[1]),
      { ["X-Token"] = "secret" })
    local there = client.over(support.transports.stream(connection, "ws"))
    assert.equal("secret", there:result("headers", "{}")["x-token"])
  end)

  it("of other peers are none", function()
    local there = support.serve_client({ ["init.lua"] = WORK },
      { listen = { "tcp://127.0.0.1:0" } })
    assert.equal(cjson.null, there:result("headers", "{}"))
  end)
end)
