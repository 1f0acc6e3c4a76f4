-- Methods that wait: sleeping, tasks, timers, luv.
local support = require "support"
local methods = require "support.methods"
local client = support.client
local serve, gives, fails = methods.serve, methods.gives, methods.fails

after_each(support.clean)

describe("waiting", function()
  it("lets other calls run", function()
    local there, self = serve { ["init.lua"] = [[
      local M = {}
      function M.slow() rpc.sleep(0.4) return "slow" end
      function M.quick() return "quick" end
      return M]] }
    there.session:send(client.request("slow", nil, 1))
    assert.equal("quick", client.open(self.urls[1]):result("quick"))
    assert.matches('"slow"', there.session:next())
  end)

  it("sleeps for seconds, side by side", function()
    local there = serve { ["init.lua"] = "return { z = function(s) rpc.sleep(s) return s end }" }
    local from = support.loop.now()
    local entries = {}
    for i = 1, 50 do entries[i] = client.request("z", "[0.3]", i) end
    there:ask("[" .. table.concat(entries, ",") .. "]")
    local took = support.loop.now() - from
    assert.is_true(took >= 0.29 and took < 3, took)
  end)

  it("works in coroutines, pcall, metamethods, iterators and sort", function()
    local there = serve { ["init.lua"] = [[
      local M = {}
      local function wait(v) rpc.sleep(0.001) return v end
      function M.in_pcall() local ok, v = pcall(wait, 1) return { ok, v } end
      function M.in_wrap()
        local each = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(wait(i)) end end)
        return { each(), each(), each() }
      end
      function M.in_resume()
        local co = coroutine.create(function(a) return wait(a), coroutine.yield("y") end)
        local _, first = coroutine.resume(co, 1)
        return { first, coroutine.status(co) }
      end
      function M.in_index()
        return setmetatable({}, { __index = function(_, k) return wait(k) end }).key
      end
      function M.in_for()
        local sum = 0
        local function next_of(_, i) if (i or 0) < 3 then return wait((i or 0) + 1) end end
        for i in next_of do sum = sum + i end
        return sum
      end
      function M.closing()
        local log = {}
        do
          local x <close> = setmetatable({}, { __close = function() log[1] = wait("closed") end })
        end
        return log
      end
      function M.in_sort()
        local list = { 3, 1, 2 }
        table.sort(list, function(a, b) rpc.sleep(0.001) return a < b end)
        return list
      end
      return M]] }
    gives(there, "[true,1]", "in_pcall")
    gives(there, "[1,2,3]", "in_wrap")
    gives(there, '["y","suspended"]', "in_resume")
    gives(there, '"key"', "in_index")
    gives(there, "6", "in_for")
    gives(there, '["closed"]', "closing")
    -- table.sort is C and can't be suspended: a clear error, not a crash.
    fails(there, -32603, "in_sort")
    gives(there, "[true,1]", "in_pcall")
  end)

  it("spawns tasks", function()
    local there = serve { ["init.lua"] = [[
      local M, log = {}, {}
      function M.start()
        rpc.spawn(function(a)
          log[#log + 1] = a
          rpc.sleep(0.01)
          log[#log + 1] = "late"
        end, "first")
        log[#log + 1] = "second"
      end
      function M.wait() while #log < 3 do rpc.sleep(0.005) end return log end
      function M.failing() rpc.spawn(function() error("in a task") end) return "fine" end
      return M]] }
    there:result("start")
    gives(there, '["first","second","late"]', "wait")
    gives(there, '"fine"', "failing")
  end)

  it("has timers", function()
    local there = serve { ["init.lua"] = [[
      local M, once, often = {}, 0, 0
      local timer
      function M.start()
        rpc.after(0.01, function() once = once + 1 end)
        timer = rpc.every(0.01, function()
          often = often + 1
          if often == 3 then timer:stop() end
        end)
        rpc.after(0.01, function() once = once + 100 end):stop()
      end
      function M.wait()
        while once == 0 or often < 3 do rpc.sleep(0.005) end
        rpc.sleep(0.05)
        return { once, often }
      end
      return M]] }
    there:result("start")
    gives(there, "[1,3]", "wait")
  end)

  it("for luv works like any other", function()
    local there = serve { ["init.lua"] = [[
      local uv = require "luv"
      local M = {}
      function M.stat(path)
        local err, stat = rpc.await(function(resume) uv.fs_stat(path, resume) end)
        return not err and stat.type or "none"
      end
      function M.timer()
        return rpc.await(function(resume)
          local t = uv.new_timer()
          t:start(10, 0, function() t:close() rpc.sleep(0.01) resume("rang") end)
        end)
      end
      function M.at_once() return rpc.await(function(resume) resume(1, 2) end) end
      function M.twice() return rpc.await(function(resume) resume(1) resume(2) end) end
      function M.late() return rpc.await(function() end, 0.05) end
      function M.failing_start() return rpc.await(function() error("no start") end) end
      return M]] }
    gives(there, '"directory"', "stat", '["/"]')
    gives(there, '"none"', "stat", '["/no/such"]')
    gives(there, '"rang"', "timer")
    gives(there, "1", "at_once")
    gives(there, "1", "twice")
    fails(there, -32051, "late")
    fails(there, -32603, "failing_start")
    gives(there, "1", "at_once")
  end)

  it("takes out what would hijack the loop", function()
    local there = serve { ["init.lua"] = [[
      local uv = require "luv"
      return { f = function()
        return { type(uv.run), type(uv.stop), type(uv.loop_close), type(uv.walk) }
      end }]] }
    gives(there, '["nil","nil","nil","nil"]', "f")
  end)

  it("survives errors in luv's callbacks", function()
    local there, self = serve { ["init.lua"] = [[
      local uv = require "luv"
      local M = {}
      function M.go()
        local t = uv.new_timer()
        t:start(1, 0, function() t:close() error("in a callback") end)
      end
      function M.one() return 1 end
      return M]] }
    there:result("go")
    self:wait_log("in a callback")
    gives(there, "1", "one")
  end)

  it("is possible while a file loads", function()
    local there = serve { ["init.lua"] = [[
      rpc.sleep(0.05)
      local v = rpc.await(function(resume) rpc.after(0.01, function() resume("late") end) end)
      return { v = function() return v end }]] }
    gives(there, '"late"', "v")
  end)
end)
