-- `moonrpc check`: what it finds in files, and where it says that it is.
local support = require "support"
local files, program = support.files, support.program

local METHODS = "tests/spec/methods"

local function run(...)
  return program.run({ ... })
end

describe("moonrpc check", function()
  after_each(support.clean)

  local function check(tree)
    local code, out, err = run("check", files.temp(tree))
    return code, out .. err
  end

  it("warns of what is hardly meant", function()
    local code, out = run("check", files.temp {
      ["a.lua"] = "local M = {}\n\nfunction M:hello(name) return name end\nreturn M\n",
      ["b.lua"] = "local M = {}\nfunction M.x() end\n-- no return\n\n",
      ["c.lua"] = "return {\n  function() end,\n}\n",
      ["d.lua"] = "rpc.on('connect', function() end)",
      ["e.lua"] = "rpc.method('e', function() end)",
      ["_f.lua"] = "return { 1 }",
    })
    assert.equal(0, code)
    assert.matches("a.lua:3: warning: the first parameter of a method is called self", out)
    assert.matches("b.lua:3: warning: it defines no methods; is a return missing here?", out)
    assert.matches("c.lua:3: warning: the table that it returns has no methods", out)
    assert.equal(4, select(2, out:gsub("\n", "")), out)
  end)

  it("warns of no file that has a fault already", function()
    local code, out = run("check", files.temp { ["rpc/x.lua"] = "return { f = function() end }" })
    assert.equal(1, code)
    assert.equal("rpc/x.lua:1: names that begin with 'rpc.' belong to the host\n", out)
  end)

  it("tells of clashes without lines where functions of C have none", function()
    local _, out = run("check", files.temp {
      ["a.lua"] = "return { b = { c = print } }", ["a/b.lua"] = "return { c = print }",
    })
    assert.equal("a/b.lua: 'a.b.c' is defined in a.lua too\n", out)
  end)

  it("tells the line of a wrong value and of a connection that fails", function()
    local code, out = run("check", files.temp {
      ["a.lua"] = "local x = 1\nreturn 5\n",
      ["b.lua"] = "\nlocal c = rpc.connect('unix:/no/such/socket')\nreturn { c = c }",
    })
    assert.equal(1, code)
    assert.matches("a.lua:2: a file must return a table, a function or nothing, not a number", out)
    assert.matches('b.lua:2: connect "unix:/no/such/socket": The peer went away: ', out)
  end)

  it("names the module that was meant when one lies further down", function()
    local code, out = run("check", files.temp {
      ["user/_lib/words.lua"] = "return {}",
      ["user/init.lua"] = "return { f = require('_lib.words').f }",
    })
    assert.equal(1, code)
    assert.matches("user/init.lua:1: module '_lib.words' not found: names begin at the methods "
      .. "directory, so user/_lib/words.lua is 'user._lib.words'", (out:gsub("%-", "-")))
  end)

  it("is content with good files", function()
    assert.equal(0, (run("check", METHODS)))
    assert.equal(0, (check {}))
  end)

  it("counts one as one", function()
    local dir = files.temp { ["a.lua"] = "return function() end" }
    assert.same({ 0, "1 method in 1 file, no faults\n", "" }, { run("check", dir) })
    files.write(dir .. "/b.lua", "return { c = print }")
    assert.same({ 0, "2 methods in 2 files, no faults\n", "" }, { run("check", dir) })
  end)

  it("names file and line of every fault", function()
    local code, text = check {
      ["good.lua"] = "return { f = print }",
      ["syntax.lua"] = "local a = 1\nlocal = 2\n",
      ["sub/raises.lua"] = "\n\n\nerror('on purpose')\n",
      ["nil_call.lua"] = "\nundefined_function()\n",
      ["requires.lua"] = "require 'nowhere.to.be.found'\n",
    }
    assert.equal(1, code)
    for _, place in ipairs {
      "syntax.lua:2:", "sub/raises.lua:4:", "nil_call.lua:2:", "requires.lua:1:", "on purpose",
    } do
      assert.is_truthy(text:find(place, 1, true), text)
    end
    assert.is_nil(text:find("good.lua", 1, true))
  end)

  it("names both files that define one method", function()
    local code, text = check {
      ["init.lua"] = "return { a = { b = function() end } }",
      ["a.lua"] = "return { b = function() end }",
    }
    assert.equal(1, code)
    for _, word in ipairs { "init.lua", "a.lua", "a.b" } do
      assert.is_truthy(text:find(word, 1, true), text)
    end
  end)

  it("refuses names that are too long, however they are given", function()
    for _, text in ipairs {
      'rpc.method(("n"):rep(512), print)', 'return { [("n"):rep(512)] = print }' } do
      local code, out = program.run { "check", files.temp { ["a.lua"] = text } }
      assert.equal(1, code)
      assert.matches("name is too long", out)
    end
  end)

  it("refuses names that belong to the host", function()
    for _, tree in ipairs {
      { ["rpc.lua"] = "return { mine = function() end }" },
      { ["init.lua"] = "return { rpc = { mine = function() end } }" },
      { ["init.lua"] = "rpc.method('rpc.mine', function() end)" },
    } do
      local code, text = check(tree)
      assert.equal(1, code)
      assert.matches("^%g+%.lua:%d+: .*rpc%.", text)
    end
  end)

  it("ends a load that never ends", function()
    local code, text = check { ["endless.lua"] = "local x = 0\nwhile true do\n  x = x + 1\nend\n" }
    assert.equal(1, code)
    assert.matches("endless.lua:[23]:", text)
  end)

  it("finds a circle of requires", function()
    local code, text = check { ["_a.lua"] = "require '_b'", ["_b.lua"] = "require '_a'",
      ["c.lua"] = "require '_a'" }
    assert.equal(1, code)
    assert.matches("_[ab].lua", text)
  end)

  it("is told how to be used with exit code 2", function()
    for _, args in ipairs { {}, { "a", "b" }, { "--nope", METHODS } } do
      assert.equal(2, (run("check", table.unpack(args))))
    end
    assert.is_true((run("check", "/nowhere")) ~= 0)
  end)
end)
