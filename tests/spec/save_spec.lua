-- Reload as you save: every way to write files, and nothing lost meanwhile.
local uv = require "luv"
local support = require "support"
local reload = require "support.reload"
local files, loop = support.files, support.loop
local watch, answering = reload.watch, reload.answering
local becomes, is_gone = reload.becomes, reload.is_gone

after_each(support.clean)

describe("a change is served when a file is", function()
  local there, dir

  before_each(function()
    there, dir = watch { ["a.lua"] = answering "old", ["b.lua"] = answering "b" }
    assert.equal("old", there:result("a"))
  end)

  it("written in place", function()
    files.write(dir .. "/a.lua", answering "new")
    becomes(there, "a", "new")
  end)

  it("written in place with the same size, again and again", function()
    for i = 10, 40 do
      files.write(dir .. "/a.lua", answering(i))
      becomes(there, "a", i)
    end
  end)

  it("truncated, and written 300 ms later", function()
    local file = assert(io.open(dir .. "/a.lua", "wb"))
    local till = loop.now() + 0.3
    while loop.now() < till do
      assert.equal("old", there:result("a"))
      loop.pass(0.01)
    end
    assert(file:write(answering "new"))
    assert(file:close())
    becomes(there, "a", "new")
  end)

  it("written in pieces", function()
    files.write_slowly(dir .. "/a.lua", answering "new", 0.3)
    becomes(there, "a", "new")
  end)

  it("replaced by rename", function()
    files.replace(dir .. "/a.lua", answering "new")
    becomes(there, "a", "new")
    files.replace(dir .. "/a.lua", answering "newer")
    becomes(there, "a", "newer")
  end)

  it("saved by vim and by emacs", function()
    files.save_like_vim(dir .. "/a.lua", answering "vim")
    becomes(there, "a", "vim")
    files.save_like_emacs(dir .. "/a.lua", answering "emacs")
    becomes(there, "a", "emacs")
    files.save_like_vim(dir .. "/a.lua", answering "vim again")
    becomes(there, "a", "vim again")
  end)

  it("deleted", function()
    files.remove(dir .. "/a.lua")
    is_gone(there, "a")
    assert.equal("b", there:result("b"))
  end)

  it("renamed", function()
    assert(uv.fs_rename(dir .. "/a.lua", dir .. "/c.lua"))
    becomes(there, "c", "old")
    is_gone(there, "a")
  end)

  it("in a new directory", function()
    files.write(dir .. "/new/deep/c.lua", answering "c")
    becomes(there, "new.deep.c", "c")
    files.write(dir .. "/new/deep/c.lua", answering "d")
    becomes(there, "new.deep.c", "d")
    assert(uv.fs_rename(dir .. "/new", dir .. "/other"))
    becomes(there, "other.deep.c", "d")
    is_gone(there, "new.deep.c")
  end)

  it("required by a method's file", function()
    files.write(dir .. "/_lib/v.lua", "return 1")
    files.write(dir .. "/a.lua", "local v = require '_lib.v' return function() return v end")
    becomes(there, "a", 1)
    files.write(dir .. "/_lib/v.lua", "return 2")
    becomes(there, "a", 2)
  end)
end)

describe("many files", function()
  it("that git checks out change together", function()
    local dir = files.temp()
    local function git(arguments)
      return os.execute(("cd %s && git -c user.name=t -c user.email=t@t %s >/dev/null 2>&1")
        :format(dir, arguments))
    end
    if not git("init") then return pending("there is no git") end
    local function commit(branch, value)
      git("checkout -b " .. branch)
      for i = 1, 100 do files.write(("%s/f%d.lua"):format(dir, i), answering(value)) end
      git("add .")
      assert(git("commit -m " .. branch))
    end
    commit("first", "first")
    commit("second", "second")
    local there = watch(dir)
    assert.equal("second", there:result("f1"))
    assert(git("checkout first"))
    for i = 1, 100 do becomes(there, "f" .. i, "first") end
    assert(git("checkout second"))
    for i = 1, 100 do becomes(there, "f" .. i, "second") end
  end)

  it("change in one step when the directory is a link that is turned", function()
    local base = files.temp {
      ["1/a.lua"] = answering(1), ["1/b.lua"] = answering(1), ["1/gone.lua"] = answering(1),
      ["2/a.lua"] = answering(2), ["2/b.lua"] = answering(2), ["2/come.lua"] = answering(2),
    }
    assert(uv.fs_symlink("1", base .. "/current"))
    local there = watch(base .. "/current")
    assert.equal(1, there:result("gone"))
    files.swap_link(base .. "/current", "2")
    becomes(there, "a", 2)
    assert.equal(2, there:result("b"))
    assert.equal(2, there:result("come"))
    assert.equal(-32601, there:failure("gone").code)
    files.write(base .. "/2/a.lua", answering(3))
    becomes(there, "a", 3)
  end)

  it("change in one step in a ConfigMap volume", function()
    local base = files.temp {
      ["..1/a.lua"] = answering(1), ["..2/a.lua"] = answering(2), ["..3/a.lua"] = answering(3),
    }
    assert(uv.fs_symlink("..1", base .. "/..data"))
    assert(uv.fs_symlink("..data/a.lua", base .. "/a.lua"))
    local there = watch(base)
    assert.equal(1, there:result("a"))
    files.swap_link(base .. "/..data", "..2")
    becomes(there, "a", 2)
    files.remove(base .. "/..1")
    files.swap_link(base .. "/..data", "..3")
    becomes(there, "a", 3)
  end)
end)

describe("no new generation", function()
  local function generation(there)
    return there:result("rpc.status").generation
  end

  it("comes of a touch, or of what isn't a script", function()
    local there, dir = watch({ ["a.lua"] = answering(1) }, { dev = true })
    assert.equal(1, generation(there))
    files.touch(dir .. "/a.lua")
    files.write(dir .. "/notes.txt", "x")
    files.write(dir .. "/.a.lua.swp", "x")
    files.write(dir .. "/a.lua~", "x")
    files.write(dir .. "/4913", "x")
    files.write(dir .. "/.hidden/b.lua", "x")
    files.write(dir .. "/a.lua", answering(1))
    loop.pass(0.3)
    assert.equal(1, generation(there))
    files.write(dir .. "/a.lua", answering(2))
    becomes(there, "a", 2)
    assert.equal(2, generation(there))
  end)
end)
