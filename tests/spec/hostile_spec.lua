-- Scripts that break what they can reach: the host must go on serving, and the
-- other files with it.
local support = require "support"

after_each(support.clean)

local GOOD = [[
  local M = {}
  function M.one() return 1 end
  function M.list() return { "a", { b = rpc.array {} }, rpc.null } end
  function M.wait() rpc.sleep(0.001) return "waited" end
  function M.fail() rpc.error(7, "meant") end
  return M]]

-- Serves a bad file beside a good one, calls `bad`, then the good one's methods.
local function survives(title, text, expected)
  it(title, function()
    local there, self = support.serve_client(
      { ["good.lua"] = GOOD, ["bad.lua"] = text },
      { listen = { "tcp://127.0.0.1:0" }, config = "{ limits = { handler = 0.5, wait = 1 } }" })
    local answer, raw = there:call("bad")
    if expected then
      local got = answer.error and answer.error.code or answer.result
      assert.equal(expected, got, raw)
    end
    assert.equal(1, there:result("good.one"))
    assert.equal('["a",{"b":[]},null]', there:raw("good.list"))
    assert.equal("waited", there:result("good.wait"))
    assert.equal(7, there:failure("good.fail").code)
    assert.is_nil(self.code, self.err)
  end)
end

describe("the log", function()
  it("cuts what a script makes too long", function()
    local there, self = support.serve_client({ ["init.lua"] = [[
      local M = {}
      function M.bomb() error(("x"):rep(5e6)) end
      function M.log() rpc.log.info(("y"):rep(5e6), { more = ("z"):rep(5e6) }) return 1 end
      return M]] })
    there:failure("bomb")
    self:wait_log("x...")
    assert.equal(1, there:result("log"))
    self:wait_log("z...")
    assert.is_true(#self.err < 500000, #self.err)
  end)
end)

describe("a timeout", function()
  it("that is no time is an error", function()
    local there = support.serve_client { ["init.lua"] = [[
      local M = {}
      function M.await(seconds) return (pcall(rpc.await, print, seconds)) end
      function M.wait(seconds)
        local task = rpc.spawn(rpc.sleep, 0.01)
        return (pcall(task.wait, task, seconds))
      end
      function M.nan() return (pcall(rpc.await, print, 0/0)) end
      return M]] }
    assert.is_false(there:result("await", "[-1]"))
    assert.is_false(there:result("wait", "[-1]"))
    assert.is_false(there:result("nan"))
    assert.is_true(there:result("wait", "[5]"))
    assert.is_true(there:result("wait"))
  end)
end)

describe("a script that", function()
  survives("loops for ever in a task that it spawned",
    "return function() rpc.spawn(function() while true do end end) return 2 end", 2)
  survives("loops for ever in a timer",
    "return function() rpc.after(0, function() while true do end end) return 2 end", 2)
  survives("loops for ever in a callback of luv", [[
    local uv = require "luv"
    return function()
      local t = uv.new_timer()
      t:start(0, 0, function() t:close() while true do end end)
      return 2
    end]], 2)
  survives("loops for ever in __close", [[
    return function()
      local x <close> = setmetatable({}, { __close = function() while true do end end })
    end]], -32053)
  survives("loops for ever in __close after it was ended", [[
    return function()
      local x <close> = setmetatable({}, { __close = function() while true do end end })
      while true do end
    end]], -32053)
  survives("loops for ever in metamethods", [[
    return function()
      return setmetatable({}, { __index = function() while true do end end }).x
    end]], -32053)
  survives("loops for ever while its result is written", [[
    return function()
      local t = setmetatable({}, { __pairs = function() while true do end end,
        __index = function() while true do end end, __len = function() while true do end end })
      return t
    end]])
  survives("waits again and again for no time", [[
    return function()
      rpc.spawn(function() while true do rpc.sleep(0) end end)
      return 2
    end]], 2)
  survives("spawns tasks in a loop", [[
    return function() while true do rpc.spawn(function() end) end end]], -32053)
  survives("spawns tasks that wait in a loop", [[
    return function() while true do rpc.spawn(rpc.sleep, 0.01) end end]], -32053)
  survives("spawns tasks in tasks, without end", [[
    local function more() rpc.spawn(more) rpc.spawn(more) end
    return function() more() return 2 end]])
  survives("loops for ever in __gc", [[
    return function()
      setmetatable({}, { __gc = function() while true do end end })
      collectgarbage()
      return 2
    end]])
  survives("starts ten thousand timers of no time", [[
    return function() for _ = 1, 10000 do rpc.after(0, function() end) end return 2 end]], 2)
  survives("fails in __gc", [[
    return function()
      for _ = 1, 100 do setmetatable({}, { __gc = function() error("in gc") end }) end
      collectgarbage() collectgarbage()
      return 2
    end]], 2)
  survives("waits in __gc", [[
    return function()
      setmetatable({}, { __gc = function() rpc.sleep(0.01) end })
      collectgarbage()
      return 2
    end]], 2)
  survives("raises from __close after an error", [[
    return function()
      local x <close> = setmetatable({}, { __close = function() error("second") end })
      error("first")
    end]], -32603)
  survives("wakes a wait twice, late, and from another call", [[
    local kept
    return function()
      local v = rpc.await(function(resume) kept = resume rpc.after(0.01, resume) end)
      kept(1) kept(2)
      rpc.after(0.01, function() kept(3) end)
      return 2
    end]], 2)
  survives("closes, resumes and wraps the coroutine that it runs in", [[
    return function()
      local co = coroutine.running()
      pcall(coroutine.close, co)
      pcall(coroutine.resume, co)
      return 2
    end]], 2)
  survives("yields out of its call",
    "return function() return coroutine.yield(1, 2, 3) or 2 end")
  survives("leaves a coroutine that waits behind", [[
    return function()
      local co = coroutine.create(function() rpc.sleep(0.05) end)
      rpc.spawn(function() coroutine.resume(co) end)
      return 2
    end]], 2)
  survives("changes its limits with the debug library", [[
    return function()
      if debug and debug.sethook then debug.sethook() end
      while true do if debug and debug.sethook then debug.sethook() end end
    end]])
  survives("wipes the registry with the debug library", [[
    return function()
      if debug.getregistry then
        for key in pairs(debug.getregistry()) do debug.getregistry()[key] = nil end
      end
      return 2
    end]], 2)
  survives("nests pcall until the C stack ends", [[
    local function deep() return pcall(deep) end
    return function() deep() return 2 end]])
  survives("nests coroutines until the C stack ends", [[
    local function deep(n) return coroutine.wrap(deep)(n + 1) end
    return function() return deep(1) end]], -32603)
  survives("searches with a pattern that never ends well", [[
    return function() return #string.rep("x", 1e6):gsub("x", "y") > 0 and 2 end]], 2)
  survives("returns a table whose metamethods fail", [[
    return function()
      local t = setmetatable({ 1 }, {
        __len = function() error("len") end, __pairs = function() error("pairs") end,
        __index = function() error("index") end, __name = 5, __metatable = false,
      })
      return t
    end]])
  survives("raises its own error value again and again", [[
    local e = setmetatable({}, { __tostring = function(self) error(self) end,
      __index = function(self) error(self) end })
    return function() error(e) end]], -32603)
  survives("makes an error object of strange parts", [[
    return function()
      error(setmetatable({ code = 2^63, message = ("m"):rep(100000), data = print }, {}))
    end]])
  survives("prints without end of line, and binary", [[
    return function() print(("\0\27[2J\xff"):rep(1000)) io.stderr:write("no end") return 2 end]], 2)
  survives("changes the working directory and the environment", [[
    return function()
      local uv = require "luv"
      uv.chdir("/")
      uv.os_setenv("LANG", "x")
      return 2
    end]], 2)
  survives("kills its collector", [[
    return function() collectgarbage("stop") for _ = 1, 1e5 do local _ = {} end
      collectgarbage("restart") return 2 end]], 2)
  survives("gives a task's metatable to a table", [[
    return function()
      local meta = getmetatable(rpc.spawn(function() end))
      local fake = setmetatable({}, meta)
      pcall(fake.wait, fake) pcall(fake.cancel, fake) pcall(fake.is_done, fake)
      return 2
    end]], 2)
  survives("gives a timer's metatable to a table", [[
    return function()
      local fake = setmetatable({}, getmetatable(rpc.after(0, function() end)))
      pcall(fake.stop, fake)
      return 2
    end]], 2)
  survives("leaves a hook behind that fails in whatever comes next", [[
    return function()
      debug.sethook(function() error("gotcha") end, "crl", 1)
    end]])
  survives("spawns tasks that spawn tasks, for ever", [[
    local function bomb() rpc.spawn(bomb) rpc.spawn(bomb) end
    return function() bomb() return 2 end]])
  survives("throws away its modules", [[
    return function()
      for k in pairs(package.loaded) do package.loaded[k] = nil end
      package.path, package.cpath = 5, nil
      pcall(require, "nowhere")
      return 2
    end]], 2)
end)
