-- What a reload does and leaves: old code until the new one stands, whoever
-- asks for it.
local support = require "support"
local reload = require "support.reload"
local client, files, loop = support.client, support.files, support.loop
local watch, answering, becomes = reload.watch, reload.answering, reload.becomes

after_each(support.clean)

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
