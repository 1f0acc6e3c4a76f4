-- moonrpc bench: that it counts right. How fast anything is isn't asked here.
local support = require "support"
local files, program = support.files, support.program

local METHODS = "tests/spec/methods"

after_each(support.clean)

local function run(...)
  return program.run({ "bench", "-d", "0.2", ... })
end

-- What a report says.
local function read(out)
  local answers = tonumber(out:match("\nanswers +(%d+) in "))
  local errors, lost, again = out:match("(%d+) errors, (%d+) calls lost, (%d+) reconnects\n")
  local p50, p99, p999, max =
    out:match("p50 ([%d.]+), p99 ([%d.]+), p99.9 ([%d.]+), max ([%d.]+) ms\n")
  assert.is_truthy(answers and errors and p50, out)
  assert.is_true(tonumber(p50) <= tonumber(p99) and tonumber(p99) <= tonumber(p999)
    and tonumber(p999) <= tonumber(max), out)
  return answers, tonumber(errors), tonumber(lost), tonumber(again), tonumber(p50)
end

describe("moonrpc bench", function()
  it("measures every transport", function()
    local dir = files.temp()
    local self = support.serve(METHODS, { listen = { "http://127.0.0.1:0", "tcp://127.0.0.1:0",
      "unix:" .. dir .. "/a", "http+unix:" .. dir .. "/b" } })
    local urls = self.urls
    urls[#urls + 1] = urls[1]:gsub("^http", "ws")
    urls[#urls + 1] = "ws+unix:" .. dir .. "/b"
    urls[#urls + 1] = "exec:" .. program.path .. " serve " .. METHODS .. " --listen stdio:"
    for _, url in ipairs(urls) do
      local code, out, err = run("-c", "2", "-n", "3", url, "subtract", "42", "23")
      assert.equal(0, code, url .. err)
      local answers, errors, lost, again = read(out)
      assert.is_true(answers > 10, url)
      assert.same({ 0, 0, 0 }, { errors, lost, again }, url)
    end
  end)

  it("keeps no more in flight than it is told, and no less", function()
    local self = support.serve({ ["count.lua"] = [[
      local now, most = 0, 0
      return { wait = function()
        now = now + 1
        if now > most then most = now end
        rpc.sleep(0.01)
        now = now - 1
      end, most = function() return most end }]] }, { listen = { "tcp://127.0.0.1:0" } })
    local code, out = run("-c", "2", "-n", "5", self.urls[1], "count.wait")
    assert.equal(0, code)
    local _, _, _, _, p50 = read(out)
    assert.is_true(p50 >= 9.9, out)
    local _, most = program.run { "call", self.urls[1], "count.most" }
    assert.equal("10\n", most)
  end)

  it("sends batches", function()
    local self = support.serve({ ["count.lua"] = [[
      local calls = 0
      return { one = function(x) calls = calls + 1 return x end, all = function() return calls end }
      ]] }, { listen = { "http://127.0.0.1:0" } })
    local code, out = run("-b", "7", "-n", "2", self.urls[1], "count.one", "x=1")
    assert.equal(0, code)
    assert.matches("connections 1, in flight on each 2 batches of 7\n", out)
    local answers = read(out)
    local _, calls = program.run { "call", self.urls[1], "count.all" }
    assert.equal(0, tonumber(calls) % 7)
    assert.is_true(tonumber(calls) >= answers and tonumber(calls) <= answers + 14, out .. calls)
  end)

  it("tells errors from answers and exits with 1", function()
    local self = support.serve(METHODS, { listen = { "tcp://127.0.0.1:0" } })
    local code, out, err = run(self.urls[1], "fail", "-7", "No")
    assert.equal(1, code)
    local answers, errors = read(out)
    assert.equal(answers, errors)
    assert.equal('the first error: {"code":-7,"message":"No"}\n', err)
  end)

  it("connects again when the server closes, and counts what was lost", function()
    local path = files.temp { script = [[
      read x; echo '{"jsonrpc":"2.0","id":1,"result":1}'; read x; exit 0]] } .. "/script"
    local code, out = run("exec:sh " .. path, "x")
    local answers, _, lost, again = read(out)
    assert.is_true(answers > 1 and again > 1, out)
    assert.is_true(math.abs(lost - again) <= 1, out)
    assert.equal(1, code)
  end)

  it("counts the connections that the server doesn't take", function()
    local self = support.serve(METHODS, { config = "{ limits = { connections = 3 } }" })
    for _, url in ipairs { self.urls[1], (self.urls[1]:gsub("^http", "ws")) } do
      local code, out, err = run("-c", "5", url, "subtract", "42", "23")
      assert.same({ 1, "" }, { code, err })
      assert.is_true(read(out) > 10)
      assert.matches("\nsilent      2 connections, of which no call was answered", out)
    end
  end)

  it("ends at once when the system doesn't allow so many connections", function()
    local command = ("ulimit -n 100; exec '%s' bench -c %%d '%%s' x"):format(program.path)
    for url, count in pairs { ["tcp://127.0.0.1:1"] = 69, ["exec:sleep 9"] = 23 } do
      local code, out, err = program.run({ "-c", command:format(count, url) }, { path = "/bin/sh" })
      assert.same({ 2, "" }, { code, out })
      assert.matches(("-c %d takes 101 descriptors, and the system allows 100 "):format(count), err)
    end
    assert.equal(3, (program.run({ "-c", command:format(68, "tcp://127.0.0.1:1") },
      { path = "/bin/sh" })))
  end)

  it("exits with 3 when nobody is there, or nobody any more", function()
    assert.equal(3, (run("tcp://127.0.0.1:1", "x")))
    local self = support.serve(METHODS, { listen = { "tcp://127.0.0.1:0" } })
    local bench = program.start { "bench", "-d", "60", self.urls[1], "subtract", "2", "1" }
    support.loop.wait(function()
      local _, out = program.run { "call", self.urls[1], "get_data" }
      return out ~= "" and bench.pid
    end, nil, "a server that answers")
    support.loop.pass(0.1)
    self:kill("sigkill")
    assert.equal(3, bench:wait_exit())
    assert.is_true(read(bench.out) > 0)
    assert.matches("connection refused", bench.err)
  end)

  it("reports early on SIGINT", function()
    local self = support.serve(METHODS, { listen = { "tcp://127.0.0.1:0" } })
    local bench = program.start { "bench", "-d", "60", self.urls[1], "subtract", "2", "1" }
    support.loop.pass(0.2)
    bench:kill("sigint")
    assert.equal(0, bench:wait_exit())
    assert.is_true(read(bench.out) > 0)
  end)

  it("is told how to be used with exit code 2", function()
    assert.is_nil(program.find_accepted("bench", {
      {}, { "tcp://127.0.0.1:1" }, { "-c", "0", "tcp://127.0.0.1:1", "x" },
      { "-n", "-1", "tcp://127.0.0.1:1", "x" }, { "-b", "1x", "tcp://127.0.0.1:1", "x" },
      { "-d", "soon", "tcp://127.0.0.1:1", "x" }, { "-x", "tcp://127.0.0.1:1", "x" },
      { "nonsense", "x" }, { "tcp://127.0.0.1:1", "x", "a=1", "2" },
    }))
  end)
end)
