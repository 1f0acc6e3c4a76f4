-- Failing handlers: what the caller hears, what the log says, and that a million
-- of them change nothing.
local support = require "support"

after_each(support.clean)

local FILE = { ["init.lua"] = [[
local M = {}

function M.raised() rpc.error(-32000, "meant", { why = "because" }) end
function M.bare() rpc.error(5, "no data") end
function M.made() error(rpc.error.new(6, "made")) end
function M.plain_table() error { code = 7, message = "table", data = { 1 } } end
function M.inner() pcall(error, "caught") rpc.error(8, "after") end
function M.caught()
  local ok, err = pcall(rpc.error, 9, "caught")
  return { ok, err.code, err.message }
end

function M.text() error("secret text") end
function M.no_place() error("secret text", 0) end
function M.nothing() error() end
function M.number() error(42) end
function M.other_table() error { secret = true } end
function M.half_table() error { code = "x", message = 5 } end
function M.userdata()
  error(setmetatable({}, { __tostring = function() error("in __tostring") end }))
end
function M.index() local t = nil; return t.field end
function M.overflow() return 1 + M.overflow() end
function M.coroutine()
  coroutine.wrap(function() error("secret in a coroutine") end)()
end
function M.resumed()
  local ok, err = coroutine.resume(coroutine.create(function() error("secret") end))
  if not ok then error(err) end
end
function M.later() rpc.sleep(0.001) error("secret later") end
function M.unwritable() return { print } end
function M.big() return ("x"):rep(2^40) end
function M.closing()
  local x <close> = setmetatable({}, { __close = function() error("secret close") end })
  return 1
end
function M.deep() local function f(n) if n == 0 then error("bottom") end f(n - 1) end f(500) end
function M.memory() local t = {} while true do t[#t + 1] = ("y"):rep(2^20) .. #t end end

function M.one() return 1 end
function M.kilobytes() collectgarbage() collectgarbage() return collectgarbage("count") end
return M
]] }

-- Where a piece of the file stands: "init.lua:LINE".
local function place_of(piece)
  local at = FILE["init.lua"]:find(piece, 1, true)
  local _, lines = FILE["init.lua"]:sub(1, at):gsub("\n", "")
  return "init.lua:" .. lines + 1
end

local MEANT = {
  raised = { code = -32000, message = "meant", data = { why = "because" } },
  bare = { code = 5, message = "no data" },
  made = { code = 6, message = "made" },
  plain_table = { code = 7, message = "table", data = { 1 } },
  inner = { code = 8, message = "after" },
}

local ACCIDENTS = {
  "text", "no_place", "nothing", "number", "other_table", "half_table", "userdata", "index",
  "overflow", "coroutine", "resumed", "later", "unwritable", "big", "closing", "deep",
}

local function serve(options)
  options = options or {}
  options.listen = { "tcp://127.0.0.1:0" }
  return support.serve_client(FILE, options)
end

describe("a failing handler", function()
  it("says what it means to, in every mode", function()
    for _, dev in ipairs { true, false } do
      local there = serve { dev = dev }
      for name, expected in pairs(MEANT) do
        assert.same(expected, there:failure(name), name)
      end
      assert.same({ false, 9, "caught" }, there:result("caught"))
    end
  end)

  it("says nothing else in production", function()
    local there = serve()
    for _, name in ipairs(ACCIDENTS) do
      assert.same({ code = -32603, message = "Internal error" }, there:failure(name), name)
      assert.equal(1, there:result("one"))
    end
  end)

  it("tells message and traceback in dev mode, with the author's file and line", function()
    local there = serve { dev = true }
    for name, piece in pairs {
      text = 'error("secret text") end', index = "t.field", coroutine = "secret in a coroutine",
      later = "secret later",
    } do
      local place = place_of(piece)
      local failure = there:failure(name)
      assert.equal(-32603, failure.code)
      assert.equal("Internal error", failure.message)
      local data = failure.data
      local trace = table.concat(data.traceback, "\n")
      assert.is_truthy((data.message .. "\n" .. trace):find(place, 1, true), name .. ": " .. trace)
    end
    assert.matches("secret text", there:failure("text").data.message)
    for _, name in ipairs(ACCIDENTS) do
      assert.equal(-32603, there:failure(name).code, name)
      assert.equal(1, there:result("one"))
    end
  end)

  it("is logged with method, message and place in both modes", function()
    for _, dev in ipairs { true, false } do
      local there, self = serve { dev = dev }
      there:failure("text")
      local line = self:wait_log("secret text")
      assert.is_truthy(self.err:find(place_of('error("secret text") end'), 1, true), self.err)
      assert.matches("text", line)
    end
  end)

  it("that took all memory gives it back", function()
    local there = serve { config = "{ limits = { memory = 64 * 2^20 } }" }
    for _ = 1, 3 do there:failure("memory") end
    assert.equal(1, there:result("one"))
    assert.is_true(there:result("kilobytes") < 10000)
  end)

  it("leaves nothing behind, however often", function()
    local there = serve { args = { "--log", "error" }, config = "{ limits = { batch = 1000 } }" }
    local entries = {}
    for i = 1, 500 do
      local name = ACCIDENTS[i % #ACCIDENTS + 1]
      entries[i] = support.client.request(
        (name == "overflow" or name == "big") and "text" or name, nil, 1)
    end
    local batch = "[" .. table.concat(entries, ",") .. "]"
    local function fail(times)
      for _ = 1, times do there:ask(batch) end
      return there:result("kilobytes")
    end
    local early = fail(4)
    local late = fail(40)
    assert.is_true(math.abs(late - early) < 2, ("%.1f KiB, then %.1f"):format(early, late))
    assert.equal(1, there:result("one"))
  end)
end)

describe("an error that comes from elsewhere", function()
  local RELAY = { ["init.lua"] = [[
    local M = {}
    local client

    function M.ask(method) return rpc.peer():call(method, nil, { timeout = 0.05 }) end
    function M.connect(url) client = rpc.connect(url) return true end
    function M.relay(method)
      local result = client:call(method, { 1 })
      return result
    end
    function M.await() rpc.await(function() end, 0.01) end
    function M.spawned()
      rpc.spawn(function() M.await() end):wait()
    end
    function M.unreachable()
      local to = rpc.connect("unix:/no/such/socket")
      return to
    end
    function M.caught() return (pcall(M.await)) end
    function M.own()
      rpc.spawn(function() rpc.sleep(0.001) rpc.error(4, "own") end):wait()
    end
    local function helper(...) return client:call(...) end
    function M.tail() return helper("nope") end
    function M.half()
      local result = helper("nope")
      return result
    end
    function M.wrong() return client:call(5) end
    return M]] }

  local UP = { ["init.lua"] = [[
    return { no = function(_) rpc.error(-32099, "no", { why = 1 }) end }]] }

  local function relay(options)
    local up = support.serve(UP, { listen = { "tcp://127.0.0.1:0" } })
    options.listen = { "tcp://127.0.0.1:0" }
    local there, self = support.serve_client(RELAY, options)
    assert.is_true(there:result("connect", "[\"" .. up.urls[1] .. "\"]"))
    return there, self
  end

  -- What calls it, and what the log says.
  local FAILURES = {
    { "relay", '["nope"]', -32601, [[init.lua:7: call \"nope\": Method not found (-32601)]] },
    { "await", nil, -32051, "init.lua:10: await: Timed out (-32051)" },
    { "spawned", nil, -32051, "init.lua:10: await: Timed out (-32051)" },
    { "unreachable", nil, -32057,
      [[init.lua:15: connect \"unix:/no/such/socket\": The peer went away: ]] },
  }

  it("goes on as it is, with a warning in the log", function()
    local there, self = relay {}
    for _, case in ipairs(FAILURES) do
      local name, params, code, text = table.unpack(case)
      local failure = there:failure(name, params)
      assert.equal(code, failure.code)
      assert.is_nil(failure.data)
      local line = self:wait_log("method=" .. name, nil)
      assert.matches("warn  method failed", line)
      assert.is_truthy(line:find(text, 1, true), line)
      assert.matches('traceback="[^"]*[^"n]"', line)
      assert.is_nil(line:find("rpc.connect:", 1, true), line)
    end
  end)

  it("is explained in dev mode, if it has no data", function()
    local there = relay { dev = true }
    local failure = there:failure("relay", '["nope"]')
    assert.equal('init.lua:7: call "nope": Method not found (-32601)', failure.data.message)
    assert.matches("^init.lua:7: in ", failure.data.traceback[1])
    assert.same({ code = -32099, message = "no", data = { why = 1 } },
      there:failure("relay", '["no"]'))
  end)

  it("has a place where a tail call has taken that of the call", function()
    local there = relay { dev = true }
    for name, want in pairs {
      tail = { 'init.lua:23: "nope": Method not found (-32601)',
        "(...tail calls...)", "init.lua: in function <init.lua:23>" },
      half = { 'init.lua:25: "nope": Method not found (-32601)',
        "(...tail calls...)", "init.lua:25: in function <init.lua:24>" },
      wrong = { "bad argument #1 to 'call' (string expected, got number)",
        "(...tail calls...)", "init.lua: in function <init.lua:28>" },
    } do
      local data = there:failure(name).data
      assert.same(want, { data.message, table.unpack(data.traceback) })
    end
  end)

  it("says so when the caller itself is to blame", function()
    local there, self = relay {}
    there.session:send('{"jsonrpc":"2.0","method":"ask","params":["what"],"id":1}')
    local line = self:wait_log("method=ask")
    assert.is_truthy(line:find([[init.lua:4: call \"what\": Timed out (-32051)]], 1, true), line)
  end)

  it("is nothing to tell of when it is caught, or the author's own", function()
    local there, self = relay { dev = true }
    assert.is_false(there:result("caught"))
    assert.same({ code = 4, message = "own" }, there:failure("own"))
    assert.is_nil(self.err:find("method failed", 1, true))
  end)
end)

describe("a wrong argument of a client's", function()
  local WRONG = { ["init.lua"] = [[
    local client = rpc.connect("unix:/no/such/socket", { retry = true })
    local up
    return {
      connect = function(url) up = rpc.connect(url) return true end,
      name = function() local r = client:call(5) return r end,
      params = function() local r = client:call("a", 5) return r end,
      notify = function() client:notify("a", 5) return 1 end,
      value = function() local r = up:call("a", { print }) return r end,
    }]] }

  it("is told with the author's place, as a peer's is", function()
    local up = support.serve({ ["a.lua"] = "return function() end" },
      { listen = { "tcp://127.0.0.1:0" } })
    local there, self = support.serve_client(WRONG, { dev = true })
    assert.is_true(there:result("connect", '["' .. up.urls[1] .. '"]'))
    for name, text in pairs {
      name = "init.lua:5: bad argument #1 to 'call' (string expected, got number)",
      params = "init.lua:6: bad argument #2 to 'call' " ..
        "(params must be a table or nil, not a number)",
      notify = "init.lua:7: bad argument #2 to 'notify' " ..
        "(params must be a table or nil, not a number)",
      value = "init.lua:8: params[1]: ",
    } do
      local message = there:failure(name).data.message
      assert.equal(text, message:sub(1, #text))
    end
    assert.matches("can't connect", (self:wait_log("can't connect")))
    assert.is_nil(self.err:find("at=rpc.", 1, true), self.err)
  end)
end)

describe("errors of the host", function()
  local TIMED = { ["late.lua"] = [[
    local M = {}
    function M.caught()
      local _, err = pcall(rpc.await, function() end, 0.01)
      return err.code
    end
    function M.raised() rpc.await(function() end, 0.01) end
    function M.large() return ("x"):rep(1000) end
    function M.own() rpc.error(-32051, "mine") end
    return M]] }

  it("bear the codes that the config file gives", function()
    local there = support.serve_client(TIMED, {
      config = "{ limits = { reply = 500 }, " ..
        "errors = { timed_out = 408, reply_too_large = -32001 } }" })
    assert.equal(408, there:result("late.caught"))
    assert.same({ code = 408, message = "Timed out" }, there:failure("late.raised"))
    local large = there:failure("late.large")
    assert.equal(-32001, large.code)
    assert.matches("^Reply too large", large.message)
    assert.equal(-32051, there:failure("late.own").code)
  end)

  it("keep their standard codes where it names none", function()
    local there = support.serve_client(TIMED, { config = "{ errors = { busy = -32000 } }" })
    assert.equal(-32051, there:failure("late.raised").code)
  end)
end)
