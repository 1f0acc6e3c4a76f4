-- From files to methods: names, params, results.
local support = require "support"
local methods = require "support.methods"
local serve, gives, fails = methods.serve, methods.gives, methods.fails

after_each(support.clean)

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
