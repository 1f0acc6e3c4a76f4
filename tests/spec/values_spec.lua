-- Values between JSON and Lua: what goes in comes out, what can't be written is
-- an error that names its place.
local support = require "support"
local json = support.json

local there, self

local FILE = { ["init.lua"] = [[
  local M = {}
  function M.echo(params) return params end
  function M.first(a) return a end
  function M.empty() return {} end
  function M.empty_array() return rpc.array {} end
  function M.list() return { 1, 2, 3 } end
  function M.object() return rpc.object {} end
  function M.append(list) list[#list + 1] = "more" return list end
  function M.remove(list) table.remove(list) return list end
  function M.floats() return { 1.0, -0.0, 0.1, 1e15, 2^53, 1e16, 1e300, 5e-324, 1/3 } end
  function M.integers() return { math.maxinteger, math.mininteger, 0 } end
  function M.keys() return { ["1"] = "a", b = 2 } end
  function M.integer_keys() return { [1] = "a", [2] = "b" } end
  function M.nulls() return { a = rpc.null, b = { rpc.null } } end

  function M.nan() return { users = { { score = 1 }, { score = 2 }, { score = 0/0 } } } end
  function M.inf() return { math.huge } end
  function M.func() return { a = { print } } end
  function M.userdata() return { io.stdout } end
  function M.thread() return { coroutine.create(print) } end
  function M.cycle() local t = {} t.a = { t } return t end
  function M.mixed() return { 1, 2, x = 3 } end
  function M.sparse() return { [1] = 1, [1000000] = 2 } end
  function M.bad_key() return { [true] = 1 } end
  function M.utf8() return { name = "\xff" } end
  function M.utf8_key() return { ["\xff"] = 1 } end
  function M.deep() local t = {} for _ = 1, 1000 do t = { t } end return t end
  function M.shared() local t = { 1 } return { t, t } end
  return M]] }

setup(function()
  there, self = support.serve_client(FILE, { listen = { "tcp://127.0.0.1:0" }, dev = true })
end)
teardown(support.clean)

local function gives(expected, method, params)
  assert.equal(json.canonical(expected), json.canonical(there:raw(method, params)), method)
end

describe("values", function()
  it("come back as they went", function()
    for _, text in ipairs {
      "[]", "{}", "[[]]", '{"a":[],"b":{}}', "[null]", '[1,null,null]', '{"a":null}',
      '["","é","\\u0000","\\n\\"\\\\"]', "[true,false]",
      "[9223372036854775807,-9223372036854775808,9007199254740993]", "[0.5,-1.25]",
      '{"1":"a","2":"b"}', '[[1,[2,[3]]],{"x":{"y":[{}]}}]',
    } do
      gives(text, "echo", text)
    end
  end)

  it("that were arrays stay arrays, whatever is done to them", function()
    gives('[1,"more"]', "append", "[[1]]")
    gives('["more"]', "append", "[[]]")
    gives("[]", "remove", "[[1]]")
  end)

  it("that are empty are objects, unless they are declared", function()
    gives("{}", "empty")
    gives("[]", "empty_array")
    gives("{}", "object")
    gives("[1,2,3]", "list")
    gives('["a","b"]', "integer_keys")
    gives('{"1":"a","b":2}', "keys")
    gives('{"a":null,"b":[null]}', "nulls")
    gives("[[1],[1]]", "shared")
  end)

  it("that are numbers are written short and exactly", function()
    gives("[9223372036854775807,-9223372036854775808,0]", "integers")
    local text = there:raw("floats")
    assert.matches("^%[1,%-0%.0,0%.1,1000000000000000,9007199254740992,", text)
    local values = require "cjson".decode(text)
    assert.same({ 1.0, -0.0, 0.1, 1e15, 2^53, 1e16, 1e300, 5e-324, 1/3 }, values)
    gives("-0.0", "first", "[-0]")
    gives("1", "first", "[1.0]")
    gives("100", "first", "[1e2]")
  end)

  it("that can't be written are an internal error that names the place", function()
    for method, where in pairs {
      nan = "result.users[3].score", inf = "result[1]", func = "result.a[1]",
      userdata = "result[1]", thread = "result[1]", cycle = "result.a[1]", mixed = "result",
      sparse = "result", bad_key = "result", utf8 = "result.name", utf8_key = "result",
      deep = "result",
    } do
      local failure = there:failure(method)
      assert.equal(-32603, failure.code, method)
      assert.is_truthy(tostring(failure.data and failure.data.message or failure.data)
        :find(where, 1, true), method .. ": " .. require "cjson".encode(failure))
      assert.is_truthy(self:wait_log(where:gsub("%p", "%%%0")))
    end
    assert.matches("finite", self.err)
  end)

  it("are independent of the locale", function()
    local german = support.serve_client(FILE, {
      listen = { "tcp://127.0.0.1:0" }, env = { LC_ALL = "de_DE.UTF-8", LANG = "de_DE.UTF-8" },
    })
    assert.equal("[0.5]", german:raw("echo", "[0.5]"))
    assert.matches("0%.1,", german:raw("floats"))
  end)

  it("are independent of a locale that a script sets", function()
    local odd = support.serve_client({ ["init.lua"] = [[
      os.setlocale("de_DE.UTF-8")
      return { half = function(a) return { a, 0.25 } end }]] },
      { listen = { "tcp://127.0.0.1:0" } })
    assert.equal("[0.5,0.25]", odd:raw("half", "[0.5]"))
  end)
end)
