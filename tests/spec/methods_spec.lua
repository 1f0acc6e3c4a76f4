-- From files to methods: names, params, results, waiting, require.
local support = require "support"
local client, files, json, program = support.client, support.files, support.json, support.program

after_each(support.clean)

-- Serves these files; returns a client. Params and results are JSON text.
local function serve(tree, options)
  options = options or {}
  options.listen = options.listen or { "tcp://127.0.0.1:0" }
  return support.serve_client(tree, options)
end

local function gives(there, expected, method, params)
  assert.equal(json.canonical(expected), json.canonical(there:raw(method, params)), method)
end

local function fails(there, code, method, params)
  local failure = there:failure(method, params)
  assert.equal(code, failure.code, method .. ": " .. failure.message)
  return failure.message
end

describe("names", function()
  it("come from paths and keys", function()
    local f = "function() return %q end"
    local function fn(text) return f:format(text) end
    local there = serve {
      ["math.lua"] = "return { add = " .. fn "math.add" .. ", deep = { er = { est = " ..
        fn "math.deep.er.est" .. " } } }",
      ["user/admin.lua"] = "return { list = " .. fn "user.admin.list" .. " }",
      ["user/init.lua"] = "return { me = " .. fn "user.me" .. " }",
      ["init.lua"] = "return { top = " .. fn "top" .. " }",
      ["ping.lua"] = "return " .. fn "ping",
      ["a/b/c.lua"] = "return " .. fn "a.b.c",
      ["d/init.lua"] = "return " .. fn "d",
    }
    for _, name in ipairs {
      "math.add", "math.deep.er.est", "user.admin.list", "user.me", "top", "ping", "a.b.c", "d",
    } do
      gives(there, '"' .. name .. '"', name)
    end
    for _, name in ipairs { "math", "user.init.me", "init.top", "a.b", "add", "math.deep" } do
      fails(there, -32601, name)
    end
  end)

  it("leave out what is private and what is no function", function()
    local there = serve {
      ["m.lua"] = "return { _a = function() end, n = 1, s = 'x', t = { _b = function() end }, " ..
        "_t = { c = function() end }, ok = function() return 1 end, [1] = function() end }",
      ["_private.lua"] = "return { x = function() end }",
      ["_dir/a.lua"] = "return { x = function() end }",
      [".hidden.lua"] = "return { x = function() end }",
      [".dir/a.lua"] = "return { x = function() end }",
      ["m.lua~"] = "this is no Lua",
      ["m.lua.bak"] = "neither is this",
      ["notes.txt"] = "nor this",
    }
    gives(there, "1", "m.ok")
    for _, name in ipairs {
      "m._a", "m.n", "m.s", "m.t._b", "m._t.c", "m.1", "_private.x", "_dir.a.x", ".hidden.x",
      "hidden.x", "dir.a.x", "m",
    } do
      fails(there, -32601, name)
    end
  end)

  it("are declared where they don't follow paths", function()
    local there = serve { ["x/tools.lua"] = [[
      rpc.method("tools/call", function(a) return a end)
      rpc.method("eth_blockNumber", function() return "0x1" end)
      rpc.method("x.y z", function() return "é" end)]] }
    gives(there, "3", "tools/call", '{"a":3}')
    gives(there, '"0x1"', "eth_blockNumber")
    gives(there, '"é"', "x.y z")
  end)

  it("need no file at all", function()
    fails(serve {}, -32601, "x")
    fails(serve { ["empty.lua"] = "" }, -32601, "empty")
  end)

  it("are found in whatever a file returns, shared tables and metatables too", function()
    local there = serve { ["m.lua"] = [[
      local shared = { hello = function() return 1 end }
      shared.self = nil
      return { a = shared, b = shared }]] }
    gives(there, "1", "m.a.hello")
    gives(there, "1", "m.b.hello")
  end)
end)

describe("params", function()
  local there

  local FILE = { ["init.lua"] = [[
    local M = {}
    function M.three(a, b, c) return { a = a, b = b, c = c } end
    function M.none() return "none" end
    function M.whole(params) return params end
    function M.rest(...) return select("#", ...) end
    function M.one_and_rest(a, ...) return { a, select("#", ...) } end
    function M.with_local(a) local b = 5 return { a, b } end
    function M.types(...)
      local list = rpc.array {}
      for i = 1, select("#", ...) do
        local v = select(i, ...)
        list[i] = math.type(v) or type(v)
      end
      return list
    end
    M.c = math.floor
    return M]] }

  before_each(function() there = serve(FILE) end)

  it("by position are arguments", function()
    gives(there, '{"a":1,"b":2,"c":3}', "three", "[1,2,3]")
    gives(there, '{"a":1}', "three", "[1]")
    gives(there, "{}", "three", "[]")
    gives(there, "{}", "three")
  end)

  it("by name go to the parameters of that name", function()
    gives(there, '{"a":1,"b":2,"c":3}', "three", '{"c":3,"a":1,"b":2}')
    gives(there, '{"c":3}', "three", '{"c":3}')
    gives(there, "{}", "three", "{}")
    gives(there, "[1,5]", "with_local", '{"a":1}')
  end)

  it("that nobody knows are refused by name", function()
    assert.matches("d", fails(there, -32602, "three", '{"a":1,"d":2}'))
    assert.matches("nonsense", fails(there, -32602, "none", '{"nonsense":2}'))
    fails(there, -32602, "with_local", '{"b":2}')
  end)

  it("that are too many are refused", function()
    fails(there, -32602, "three", "[1,2,3,4]")
    fails(there, -32602, "none", "[1]")
    gives(there, '"none"', "none", "[]")
    gives(there, '"none"', "none", "{}")
  end)

  it("of null are nil", function()
    gives(there, '{"b":2}', "three", "[null,2,null]")
    gives(there, '{"b":2}', "three", '{"a":null,"b":2}')
    gives(there, "3", "rest", "[null,null,null]")
  end)

  it("are given whole to who calls its only parameter params", function()
    for _, text in ipairs { '[1,null,"x"]', "[]", "{}", '{"a":null,"b":[]}' } do
      gives(there, text, "whole", text)
    end
    gives(there, "null", "whole")
    gives(there, "null", "whole", "null")
  end)

  it("go to vararg functions by position only", function()
    gives(there, "0", "rest")
    gives(there, "5", "rest", "[1,2,3,4,5]")
    gives(there, "[1,2]", "one_and_rest", "[1,2,3]")
    fails(there, -32602, "rest", '{"a":1}')
  end)

  it("may be many", function()
    gives(there, "5000", "rest", "[" .. ("1,"):rep(4999) .. "1]")
  end)

  it("keep their types", function()
    gives(there, '["integer","float","integer","float","float","string","boolean","nil","table"]',
      "types", '[1,1.5,-7,1e2,-0,"x",true,null,{}]')
    gives(there, '["integer","integer","float"]', "types",
      "[9223372036854775807,-9223372036854775808,9223372036854775808]")
  end)

  it("reach C functions by position", function()
    gives(there, "3", "c", "[3.7]")
  end)
end)

describe("results", function()
  it("are the first value, or null", function()
    local there = serve { ["init.lua"] = [[
      local M = {}
      function M.two() return 1, 2 end
      function M.nothing() end
      function M.none() return nil end
      function M.no() return false end
      function M.no_but() return false, "not a failure" end
      return M]] }
    gives(there, "1", "two")
    gives(there, "null", "nothing")
    gives(there, "null", "none")
    gives(there, "false", "no")
    gives(there, "false", "no_but")
  end)

  it("of nil and an error are failures", function()
    local there = serve { ["init.lua"] = [[
      local M = {}
      function M.meant() return nil, rpc.error.new(7, "meant", { a = 1 }) end
      function M.plain() return nil, "secret" end
      function M.open() return io.open("/no/such/file") end
      return M]] }
    assert.same({ code = 7, message = "meant", data = { a = 1 } }, there:failure("meant"))
    assert.same({ code = -32603, message = "Internal error" }, there:failure("plain"))
    assert.equal(-32603, there:failure("open").code)
  end)
end)

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

describe("require", function()
  it("finds helpers, what is built in, and what is installed", function()
    local there = serve { ["init.lua"] = [[
        local util = require "_lib.util"
        local other = require "sub.other"
        local M = {}
        function M.helper() return util.double(21) end
        function M.module() return other.one() end
        function M.same() return require "_lib.util" == util end
        function M.built_in()
          return require "cjson".encode({ 1 }) .. type(require "luv".hrtime()) ..
            type(require "string".rep) .. type(require "rpc")
        end
        return M]],
      ["_lib/util.lua"] = "return { double = function(x) return 2 * x end }",
      ["sub/other.lua"] = "return { one = function() return 1 end }" }
    gives(there, "42", "helper")
    gives(there, "1", "module")
    gives(there, "true", "same")
    gives(there, '"[1]numberfunctiontable"', "built_in")
    gives(there, "1", "sub.other.one")
  end)

  it("finds nothing in the current directory", function()
    local dir = files.temp { ["m/init.lua"] = "return { f = function() " ..
      "return (pcall(require, 'stray')) end }", ["stray.lua"] = "return {}" }
    local self = program.start({ "serve", "m", "--no-watch", "--listen", "tcp://127.0.0.1:0" },
      { cwd = dir, path = program.path:find("^/") and program.path or
        require("luv").cwd() .. "/" .. program.path })
    self:wait_listening(1)
    gives(client.open(self.urls[1]), "false", "f")
  end)

  it("waits for a module that is still loading", function()
    local there = serve {
      ["_slow.lua"] = "rpc.sleep(0.1) return { v = 5 }",
      ["a.lua"] = "local s = require '_slow' return function() return s.v end",
      ["b.lua"] = "local s = require '_slow' return function() return s.v end",
    }
    gives(there, "5", "a")
    gives(there, "5", "b")
  end)

  it("keeps the globals of files apart", function()
    local there = serve {
      ["a.lua"] = "shared = 1 return function() return shared end",
      ["b.lua"] = "return function() return shared == nil end",
    }
    gives(there, "1", "a")
    gives(there, "true", "b")
  end)

  it("shows null as one value everywhere", function()
    local there = serve { ["init.lua"] = [[
      return { f = function(params)
        return rpc.null == require "cjson".null and params.a == rpc.null
      end }]] }
    gives(there, "true", "f", '{"a":null}')
  end)
end)

describe("the rest of the table rpc", function()
  it("has state, log, json and a version", function()
    local there, self = serve { ["init.lua"] = [[
      local M = {}
      local state = rpc.state("n")
      function M.count() state.n = (state.n or 0) + 1 return state.n end
      function M.same() return rpc.state("n") == state and rpc.state("m") ~= state end
      function M.log()
        rpc.log.info("seen", { user = "ada" })
        rpc.log.warn("w")
        rpc.log.error("e")
      end
      function M.json() return rpc.json.encode({ a = rpc.array {} }) end
      function M.parse(text) return rpc.json.decode(text) end
      function M.version() return rpc.version end
      function M.now() return rpc.now() <= rpc.now() end
      return M]] }
    gives(there, "1", "count")
    gives(there, "2", "count")
    gives(there, "true", "same")
    there:result("log")
    assert.matches("ada", (self:wait_log("seen")))
    gives(there, '"{\\"a\\":[]}"', "json")
    gives(there, '{"a":[1,null,{}]}', "parse", [=[["{\"a\":[1,null,{}]}"]]=])
    fails(there, -32603, "parse", '["{"]')
    assert.matches("^%d+%.%d+%.%d+", there:result("version"))
    gives(there, "true", "now")
  end)

  it("takes print into the log", function()
    local there, self = serve { ["p.lua"] = "return function() print('printed', 1) end" }
    there:call("p")
    self:wait_log("printed")
  end)
end)
