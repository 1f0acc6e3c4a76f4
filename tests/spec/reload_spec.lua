-- Reload as you save: every way to write files, nothing lost meanwhile, and
-- old code until the new one stands.
local cjson = require "cjson"
local uv = require "luv"
local support = require "support"
local client, files, loop = support.client, support.files, support.loop
local hammer = require "support.hammer"

after_each(support.clean)

-- A served directory and a client of it.
local function watch(tree, options)
  options = options or {}
  options.watch = true
  if options.dev == nil then options.dev = true end -- for rpc.status
  options.listen = { "tcp://127.0.0.1:0" }
  local there, self = support.serve_client(tree, options)
  return there, self.dir, self
end

-- A file whose method, named like it, answers `value`.
local function answering(value)
  return ("return function() return %s end\n"):format(cjson.encode(value))
end

-- Calls the method until `is_right(answer)`; how long that took. It fails when
-- patience is over, but not for a machine that stood still: so many calls were
-- made. What the host knows then tells a change that was missed (nothing in the
-- log), one that failed, and one that was slow apart.
local function ask_until(there, method, is_right, what)
  local from, calls, slowest, answer = loop.now(), 0, 0, nil
  while loop.now() - from < loop.patience or calls < 200 do
    local before = loop.now()
    answer = there:call(method)
    slowest = math.max(slowest, loop.now() - before)
    calls = calls + 1
    if is_right(answer) then return loop.now() - from end
    loop.pass(0.005)
  end
  local status = cjson.encode(there:call("rpc.status"))
  local log = there.program and there.program.err:sub(-3000) or ""
  error(("%s to %s: %d calls in %.1f s, the slowest %.3f s, the last answered %s\n%s\n%s")
    :format(method, what, calls, loop.now() - from, slowest, cjson.encode(answer), status, log), 3)
end

-- Waits until the method answers `value`; how long that took.
local function becomes(there, method, value)
  return ask_until(there, method, function(answer) return answer.result == value end,
    "answer " .. tostring(value))
end

local function is_gone(there, method)
  return ask_until(there, method, function(answer)
    return answer.error and answer.error.code == -32601
  end, "go")
end

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

describe("a fault", function()
  local there, dir, self

  before_each(function()
    there, dir, self = watch({ ["a.lua"] = answering "old", ["b.lua"] = answering "old" },
      { dev = true })
  end)

  -- Breaks a.lua while b.lua gets new code too.
  local function breaks(text, pattern)
    local from = #self.err + 1
    files.write(dir .. "/b.lua", answering "new")
    files.write(dir .. "/a.lua", text)
    self:wait_log(pattern, nil, from)
    assert.equal("old", there:result("a"))
    assert.equal("old", there:result("b"))
    local report = there:result("rpc.status").reload
    assert.is_false(report.ok)
    assert.equal("a.lua", report.faults[1].file)
    files.write(dir .. "/a.lua", answering "mended")
    becomes(there, "a", "mended")
    assert.equal("new", there:result("b"))
    assert.is_true(there:result("rpc.status").reload.ok)
  end

  it("of syntax leaves the old code serving until it is mended", function()
    breaks("return function(\n", "a%.lua:%d.*expected")
  end)

  it("at load leaves the old code serving until it is mended", function()
    breaks("local x\nreturn x.y\n", "a%.lua:2.*attempt to index")
  end)

  it("of an endless load is ended by its deadline, while calls are served", function()
    local from = #self.err + 1
    local served, slowest = 0, 0
    files.write(dir .. "/a.lua", "\nwhile true do end")
    loop.wait(function()
      local began = loop.now()
      assert.equal("old", there:result("a"))
      slowest = math.max(slowest, loop.now() - began)
      served = served + 1
      return self.err:find("ran longer than 2000 ms", from, true)
    end, nil, "the load to be ended")
    assert.is_true(served > 100, served .. " calls were served")
    assert.is_true(slowest < 0.5, slowest .. " s for a call")
    files.write(dir .. "/a.lua", answering "mended")
    becomes(there, "a", "mended")
  end)

  it("in the first load hides nothing but what it broke, once it is mended", function()
    local first, first_dir, host = watch { ["a.lua"] = "return {", ["b.lua"] = answering "b" }
    host:wait_log("a%.lua:1")
    assert.equal(-32601, first:failure("b").code)
    files.write(first_dir .. "/a.lua", answering "a")
    becomes(first, "a", "a")
    assert.equal("b", first:result("b"))
  end)
end)

describe("moonrpc check", function()
  it("tells the faults of files that nobody requires yet, too", function()
    local dir = files.temp {
      ["a.lua"] = answering(1), ["_lib/later.lua"] = "\nreturn (", ["b.lua"] = "x",
    }
    local code, out = support.program.run { "check", dir }
    assert.equal(1, code)
    assert.equal("_lib/later.lua:2: unexpected symbol near <eof>\n"
      .. "b.lua:1: syntax error near <eof>\n", out)
  end)
end)

describe("what runs", function()
  it("in a call finishes on the old code", function()
    local slow = "return function() rpc.sleep(0.4) return %d end"
    local there, dir, self = watch { ["a.lua"] = slow:format(1), ["b.lua"] = answering(1) }
    local other = client.open(self.urls[1])
    there.session:send(client.request("a", nil, 7))
    assert.equal(1, other:result("b"))
    files.write(dir .. "/b.lua", answering(2))
    files.write(dir .. "/a.lua", slow:format(2))
    becomes(other, "b", 2)
    assert.equal('{"jsonrpc":"2.0","result":1,"id":7}', there.session:next())
    assert.equal(2, there:result("a"))
  end)

  it("in a call tells its method's name when it fails", function()
    local there, dir, self = watch {
      ["a.lua"] = "return { falls_late = function() rpc.sleep(0.4) error('late') end }",
      ["b.lua"] = answering(1),
    }
    local other = client.open(self.urls[1])
    there.session:send(client.request("a.falls_late", nil, 7))
    files.write(dir .. "/b.lua", answering(2))
    files.write(dir .. "/a.lua", answering(2))
    becomes(other, "b", 2)
    assert.matches('"code":%-32603', there.session:next())
    assert.matches("method=a.falls_late ", (self:wait_log("method failed")))
  end)

  it("for a file ends with it, what is in rpc.state stays", function()
    local ticking = [[
      local s = rpc.state("ticks")
      rpc.every(0.01, function() s.NAME = (s.NAME or 0) + 1 end)
      rpc.spawn(function() while true do rpc.sleep(0.01) s.NAME = (s.NAME or 0) + 1 end end)
      return { NAME = function() return s.NAME or 0 end }]]
    local there, dir = watch {
      ["a.lua"] = ticking:gsub("NAME", "old"),
      ["ticks.lua"] = "return function() return rpc.state('ticks').old end",
    }
    loop.wait(function() return there:result("a.old") > 4 end, nil, "ticks")
    files.write(dir .. "/a.lua", (ticking:gsub("NAME", "new")))
    loop.wait(function()
      local answer = there:call("a.new")
      return answer.result and answer.result > 4
    end, nil, "new ticks")
    local before = there:result("ticks")
    loop.pass(0.1)
    assert.equal(before, there:result("ticks"))
    assert.is_true(before > 4)
  end)
end)

describe("SIGHUP", function()
  it("reloads everything, changed or not", function()
    local there, _, self = watch {
      ["a.lua"] = "local n = 0 return function() n = n + 1 return n end",
    }
    assert.equal(1, there:result("a"))
    assert.equal(2, there:result("a"))
    local from = #self.err + 1
    self:kill("sighup")
    self:wait_log("loaded", nil, from)
    assert.equal(1, there:result("a"))
  end)
end)

describe("rpc.reload", function()
  it("loads what has changed, watched or not, and tells what it did", function()
    local there, self = support.serve_client({ ["a.lua"] = answering(1) },
      { dev = true, listen = { "tcp://127.0.0.1:0" } })
    files.write(self.dir .. "/a.lua", answering(2))
    local report = there:result("rpc.reload")
    assert.is_true(report.ok)
    assert.equal(1, report.files)
    assert.equal(2, there:result("a"))
    files.write(self.dir .. "/a.lua", "return")
    files.write(self.dir .. "/b.lua", "return (")
    report = there:result("rpc.reload")
    assert.is_false(report.ok)
    assert.same({ "b.lua", 1 }, { report.faults[1].file, report.faults[1].line })
    assert.equal(2, there:result("a"))
  end)
end)

describe("200 changes under 16 connections that call without pause", function()
  local CHANGES = tonumber(os.getenv("MOONRPC_CHANGES")) or 200
  local BATCH = '[{"jsonrpc":"2.0","method":"a.v","id":1},{"jsonrpc":"2.0","method":"b.v","id":2},'
    .. '{"jsonrpc":"2.0","method":"c","id":3}]'
  local USES = "local v = require '_lib.version'\nreturn { v = function() return v end }\n"

  -- All three answers are of one version, which never goes back.
  local function check(line, connection)
    local versions, count = {}, 0
    for version in line:gmatch('"result":(%d+)') do
      count = count + 1
      versions[count] = tonumber(version)
    end
    if count ~= 3 then return "a call failed" end
    if versions[1] ~= versions[2] or versions[1] ~= versions[3] then return "old and new mixed" end
    if versions[1] < (connection.version or 0) then return "an old answer after a new one" end
    connection.version = versions[1]
  end

  local function write_version(base, release, version, way)
    way(("%s/%d/_lib/version.lua"):format(base, release), ("return %d\n"):format(version))
  end

  local function make_release(base, release, version)
    files.write(("%s/%d/a.lua"):format(base, release), USES)
    files.write(("%s/%d/b.lua"):format(base, release), USES)
    files.write(("%s/%d/c.lua"):format(base, release), "return require('a').v\n")
    write_version(base, release, version, files.write)
  end

  it("fail no call, close no connection, mix no generations", function()
    local base = files.temp()
    make_release(base, 1, 1)
    assert(uv.fs_symlink("1", base .. "/current"))
    local there, _, self = watch(base .. "/current")
    local running = hammer.start(self.urls[1], 16, BATCH, check)
    local release, times = 1, {}
    local ways = { files.write, files.replace, files.save_like_vim, files.save_like_emacs }

    local function served(version)
      times[#times + 1] = becomes(there, "c", version)
    end

    for version = 2, CHANGES + 1 do
      local way = version % 8
      local library = ("%s/%d/_lib/version.lua"):format(base, release)
      if way < 4 then
        write_version(base, release, version, ways[way + 1])
      elseif way == 4 then
        release = release + 1
        make_release(base, release, version)
        files.swap_link(base .. "/current", tostring(release))
      elseif way == 5 then
        files.write(library, "return (")
        files.touch(("%s/%d/a.lua"):format(base, release))
        self:wait_log("version%.lua:1", nil, #self.err - 200)
        files.write(library, ("return %d\n"):format(version))
      elseif way == 6 then
        files.write(("%s/%d/new%d/d.lua"):format(base, release, version), "return {}\n")
        files.remove(("%s/%d/new%d"):format(base, release, version - 8))
        write_version(base, release, version, files.replace)
      else
        write_version(base, release, version, files.write)
      end
      served(version)
    end
    running:stop()
    assert.same({}, running.faults)
    assert.is_true(running.answers > CHANGES * 16, running.answers .. " answers")
    table.sort(times)
    assert.is_true(times[#times // 2] < 0.25, "median of " .. times[#times // 2] .. " s")
  end)
end)
