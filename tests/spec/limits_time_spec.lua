-- Limits of time, of connections and of scripts, and that others are served
-- meanwhile.
local support = require "support"
local bounds = require "support.bounds"
local conn, loop, wire = support.conn, support.loop, support.wire
local METHODS, serve, is_serving = bounds.METHODS, bounds.serve, bounds.is_serving
local holds_less = bounds.holds_less
local request = support.client.request

local SUBTRACT = '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}'
local ANSWER = '{"jsonrpc":"2.0","result":19,"id":1}'

after_each(support.clean)

describe("deadlines:", function()
  -- Sends a byte every 50 ms until the connection ends; the time that took.
  local function trickle(connection, bytes)
    local from, at = loop.now(), 0
    while connection:is_open() and not connection.send_failed do
      at = at % #bytes + 1
      connection:send(bytes:sub(at, at))
      loop.pass(0.05)
      assert.is_true(loop.now() - from < 10, "the connection lives for ever")
    end
    return loop.now() - from
  end

  it("a header that doesn't arrive in time is answered 408", function()
    local self = serve("header_time = 0.4")
    local silent = conn.open(self.urls[2]):send("POST / HTTP/1.1\r\nHost: loc")
    assert.equal(408, wire.http.read(silent).status)
    assert.equal("", silent:rest())
    local slow = conn.open(self.urls[2]):send("POST / HTTP/1.1\r\nX: ")
    assert.is_true(trickle(slow, "x") < 3)
    is_serving(self)
  end)

  it("a body that doesn't arrive in time is answered 408", function()
    local self = serve("body_time = 0.4")
    local bytes = wire.http.wrap(SUBTRACT):sub(1, -10)
    local silent = conn.open(self.urls[2]):send(bytes)
    assert.equal(408, wire.http.read(silent).status)
    assert.equal("", silent:rest())
    local head = wire.http.wrap("", { ["Content-Length"] = "100000" })
    local slow = conn.open(self.urls[2]):send(head)
    assert.is_true(trickle(slow, " ") < 3)
    is_serving(self)
  end)

  it("an idle HTTP connection is closed without a word", function()
    local self = serve("idle_time = 0.3")
    local used = conn.open(self.urls[2]):send(wire.http.wrap(SUBTRACT))
    assert.equal(ANSWER, wire.http.read(used).body)
    assert.equal("", used:rest())
    is_serving(self)
  end)

  it("a connection that waits for its answer isn't idle", function()
    local self = serve("idle_time = 0.2, header_time = 0.2, body_time = 0.2")
    local connection = conn.open(self.urls[2]):send(wire.http.wrap(request("doze", "[0.8]", 1)))
    assert.matches("awake", wire.http.read(connection).body)
  end)

  it("streams may be idle for as long as they like", function()
    local self = serve("idle_time = 0.1, header_time = 0.1, body_time = 0.1")
    local connection = conn.open(self.urls[1])
    loop.pass(0.5)
    connection:send(SUBTRACT .. "\n")
    assert.equal(ANSWER, connection:line())
  end)

  it("a half-closed connection is kept for limits.half_closed", function()
    local self = serve("half_closed = 0.4")
    for i = 1, 2 do
      local text = request("wait", '["for ever"]', 1)
      local connection = conn.open(self.urls[i])
      connection:send(i == 1 and text .. "\n" or wire.http.wrap(text)):finish()
      local from = loop.now()
      connection:rest(5)
      assert.is_true(loop.now() - from > 0.2)
    end
    is_serving(self)
  end)
end)

describe("limits.connections", function()
  it("leaves further ones waiting until one ends", function()
    local self = support.serve(METHODS, { listen = { "tcp://127.0.0.1:0" },
      config = "{ limits = { connections = 5 } }" })
    local list = {}
    for i = 1, 5 do
      list[i] = conn.open(self.urls[1]):send(SUBTRACT .. "\n")
      assert.equal(ANSWER, list[i]:line())
    end
    local late = conn.open(self.urls[1]):send(SUBTRACT .. "\n")
    for i = 1, 5 do
      list[i]:send(SUBTRACT .. "\n")
      assert.equal(ANSWER, list[i]:line())
    end
    assert.equal("", late.data)
    list[3]:close()
    assert.equal(ANSWER, late:line())
  end)

  it("is told once when it begins and once when it is over", function()
    local self = support.serve(METHODS, { listen = { "tcp://127.0.0.1:0" },
      config = "{ limits = { connections = 2 } }" })
    local list = {}
    for i = 1, 6 do list[i] = conn.open(self.urls[1]):send(SUBTRACT .. "\n") end
    for i = 1, 6 do -- of those that wait, each goes on as another ends
      assert.equal(ANSWER, list[i]:line())
      list[i]:close()
    end
    self:wait_log("info +new connections are accepted again$")
    local _, begun = self.err:gsub("warn +new connections wait +"
      .. "limit=limits.connections value=2\n", "")
    assert.equal(1, begun, self.err)
    assert.equal(2, select(2, self.err:gsub("new connections", "")), self.err)
  end)
end)

it("want of descriptors at the start is told by its name", function()
  local code, out, err = support.program.run({ "-c",
    ("ulimit -n 8; exec '%s' serve '%s'"):format(support.program.path,
      support.files.temp(METHODS)) }, { path = "/bin/sh" })
  assert.same({ 1, "" }, { code, out })
  assert.matches('error="too many open files"\n', err)
end)

describe("limits of scripts:", function()
  local SCRIPTS = {
    ["init.lua"] = [[
      local M = {}
      function M.endless() while true do end end
      function M.stubborn()
        while true do pcall(function() while true do end end) end
      end
      function M.deaf()
        while true do
          coroutine.wrap(function() xpcall(function() while true do end end, function() end) end)()
        end
      end
      function M.nesting()
        local function f() pcall(f) f() end
        f()
      end
      function M.nesting_within() coroutine.wrap(M.nesting)() end
      function M.greedy()
        local list = {}
        while true do list[#list + 1] = ("x"):rep(100000) .. #list end
      end
      function M.patient() rpc.await(function() end) end
      function M.doze() rpc.sleep(0.6) return "awake" end
      function M.one() return 1 end
      return M]],
  }

  local function serve_scripts(limits)
    return support.serve_client(SCRIPTS, {
      listen = { "tcp://127.0.0.1:0" }, config = "{ limits = { " .. limits .. " } }",
    })
  end

  it("run time ends a handler, however it resists", function()
    local there = serve_scripts("handler = 0.3")
    for _, name in ipairs { "endless", "stubborn", "deaf", "nesting", "nesting_within" } do
      assert.equal(-32053, there:failure(name).code)
      assert.equal(1, there:result("one"))
    end
  end)

  it("run time doesn't count sleep", function()
    assert.equal("awake", serve_scripts("handler = 0.2"):result("doze"))
  end)

  it("a wait ends at its deadline", function()
    local there = serve_scripts("wait = 0.3")
    assert.equal(-32051, there:failure("patient").code)
    assert.equal(1, there:result("one"))
  end)

  it("memory ends who takes too much, the host lives", function()
    local there, self = serve_scripts("memory = 32 * 2^20")
    for _ = 1, 5 do
      assert.equal(-32053, there:failure("greedy").code)
      assert.equal(1, there:result("one"))
    end
    assert.is_true(holds_less(self:memory(), 100 * 2^20))
  end)
end)

describe("crowds:", function()
  local function soft_limit()
    local text = support.files.read("/proc/self/limits")
    return tonumber(text:match("Max open files%s+(%d+)"))
  end

  it("ten thousand idle connections cost little and disturb nobody", function()
    local count = math.min(10000, (soft_limit() or 1024) - 200)
    local self = serve("")
    is_serving(self)
    local before = self:memory()
    for i = 1, count do conn.open(self.urls[i % 2 + 1]) end
    is_serving(self)
    local each = (self:memory() - before) / count
    assert.is_true(holds_less(each, 8192),
      ("%d connections took %.0f bytes each"):format(count, each))
    conn.clean()
    is_serving(self)
  end)
end)
