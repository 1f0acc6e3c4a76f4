-- What files share: require, and the table rpc.
local support = require "support"
local methods = require "support.methods"
local client, files, program = support.client, support.files, support.program
local serve, gives, fails = methods.serve, methods.gives, methods.fails

after_each(support.clean)

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

  it("survives calls of all its functions without arguments", function()
    local there = serve { ["init.lua"] = [[
      local function each(list)
        for name, f in pairs(list) do
          if type(f) == "function" and name ~= "exit" then pcall(f) end
          if type(f) == "table" then each(f) end
        end
      end
      return { each = function() each(rpc) end, one = function() return 1 end }]] }
    there:result("each")
    assert.equal(1, there:result("one"))
  end)

  it("takes print into the log", function()
    local there, self = serve { ["p.lua"] = "return function() print('printed', 1) end" }
    there:call("p")
    self:wait_log("printed")
  end)
end)
