-- luv in method files: on the host's loop, its callbacks tasks like any other.
local support = require "support"
local client, loop, files = support.client, support.loop, support.files

after_each(support.clean)

local SCRIPT = [[
local uv = require "luv"
local M = {}

function M.version() return uv.version_string() end

function M.missing()
  local names = {}
  for _, name in ipairs { "run", "stop", "loop_close", "walk" } do
    if uv[name] == nil then names[#names + 1] = name end
  end
  return names
end

-- Answers after `ms`, by a timer of luv's; its callback waits too.
function M.timer(ms)
  return rpc.await(function(resume)
    local timer = uv.new_timer()
    timer:start(ms, 0, function()
      timer:close()
      rpc.sleep(0.001)
      rpc.after(0.001, function() resume("rang") end)
    end)
  end)
end

function M.boom()
  local timer = uv.new_timer()
  timer:start(1, 0, function() timer:close() error("in a callback") end)
  rpc.sleep(0.05)
  return "alive"
end

function M.thread()
  uv.thread_join(uv.new_thread(function(word) error("thread " .. word) end, "boom"))
  local ok = uv.new_thread(function(a, b) assert(a + b == 3) end, 1, 2)
  return uv.thread_join(ok)
end

function M.work()
  return rpc.await(function(resume)
    uv.new_work(function(n) return n * 2 end, function(n) resume(n) end):queue(21)
  end)
end

function M.spawn(text)
  return rpc.await(function(resume)
    local out, got, process = uv.new_pipe(false), "", nil
    process = uv.spawn("echo", { args = { text }, stdio = { nil, out } }, function()
      process:close()
    end)
    out:read_start(function(_, data)
      if data then got = got .. data else out:close() resume(got) end
    end)
  end)
end

-- Speaks to a TCP server of its own.
function M.tcp(text)
  local server = uv.new_tcp()
  server:bind("127.0.0.1", 0)
  server:listen(8, function()
    local there = uv.new_tcp()
    server:accept(there)
    there:read_start(function(_, data)
      if data then there:write(data:upper()) else there:close() end
    end)
  end)
  local answer = rpc.await(function(resume)
    local here = uv.new_tcp()
    here:connect("127.0.0.1", server:getsockname().port, function()
      here:write(text)
      here:read_start(function(_, data) here:close() resume(data) end)
    end)
  end)
  server:close()
  return answer
end

-- A fat string for each callback, while the script's memory is bounded.
function M.read(path, size)
  local fd = assert(uv.fs_open(path, "r", 0))
  local err, data = rpc.await(function(resume) uv.fs_read(fd, size, 0, resume) end)
  uv.fs_close(fd)
  return err or #data
end

-- Never answers, and leaves much behind.
function M.leave()
  local guard <close> = setmetatable({}, { __close = function() uv.new_timer() end })
  uv.new_timer():start(1, 1, function() end)
  uv.fs_scandir("/", function() end)
  uv.getaddrinfo("localhost", nil, {}, function() end)
  uv.new_work(function() return 1 end, function() end):queue()
  uv.spawn("sleep", { args = { "1" } }, function() end)
  rpc.await(function() end)
  return guard
end

return M
]]

local TICKS = [[
local uv = require "luv"
local state = rpc.state("ticks")
local timer = uv.new_timer()
timer:start(1, 1, function() state[%q] = (state[%q] or 0) + 1 end)
return function(name) return state[name] or 0 end
]]

describe("luv", function()
  it("waits, spawns, connects and works for a handler", function()
    local there = support.serve_client { ["u.lua"] = SCRIPT }
    assert.matches("^%d+%.%d+", there:result("u.version"))
    assert.equal("rang", there:result("u.timer", "[5]"))
    assert.equal("x\n", there:result("u.spawn", '["x"]'))
    assert.equal("HELLO", there:result("u.tcp", '["hello"]'))
    assert.equal(42, there:result("u.work"))
    assert.equal(1, there:result("u.read", '["/proc/self/stat", 1]'))
  end)

  it("has nothing that would take the loop over", function()
    local there = support.serve_client { ["u.lua"] = SCRIPT }
    assert.same({ "run", "stop", "loop_close", "walk" }, there:result("u.missing"))
  end)

  it("logs an error in a callback, and the host lives", function()
    local there, self = support.serve_client { ["u.lua"] = SCRIPT }
    assert.equal("alive", there:result("u.boom"))
    assert.matches("u%.lua:%d+: in a callback", (self:wait_log("in a callback")))
  end)

  it("ends no process for an error in a thread", function()
    local there, self = support.serve_client { ["u.lua"] = SCRIPT }
    assert.is_true(there:result("u.thread"))
    self:wait_log("thread boom")
    assert.equal("rang", there:result("u.timer", "[1]"))
  end)

  it("may find no memory for what it brings, and the host lives", function()
    local there = support.serve_client({ ["u.lua"] = SCRIPT },
      { config = "{ limits = { memory = 2^20, wait = 0.2 } }" })
    for _ = 1, 3 do there:call("u.read", '["/proc/self/exe", 4000000]') end
    assert.equal("rang", there:result("u.timer", "[1]"))
  end)

  it("ends with its host, whatever is under way", function()
    local there, self = support.serve_client({ ["u.lua"] = SCRIPT },
      { args = { "--drain", "0.1" } })
    there.session:send(client.request("u.leave", nil, 1))
    assert.equal("rang", there:result("u.timer", "[20]"))
    self:kill()
    assert.same({ 1, 0 }, { self:wait_exit() }) -- a call was cut
    assert.is_nil(self.err:find("Sanitizer", 1, true), self.err)
  end)
end)

describe("a handle of luv's", function()
  local function watch(tree)
    return support.serve_client(tree, { watch = true })
  end

  local function becomes_greater(there, name, value)
    loop.wait(function() return there:result("t", '["' .. name .. '"]') > value end, nil, "ticks")
  end

  it("that was made at load ends when its file is replaced", function()
    local there, self = watch { ["t.lua"] = TICKS:format("old", "old") }
    becomes_greater(there, "old", 0)
    files.write(self.dir .. "/t.lua", TICKS:format("new", "new"))
    becomes_greater(there, "new", 0)
    local before = there:result("t", '["old"]')
    becomes_greater(there, "new", there:result("t", '["new"]') + 20)
    assert.equal(before, there:result("t", '["old"]'))
  end)

  it("that a call made stays until the call has ended", function()
    local there, self = watch { ["u.lua"] = SCRIPT, ["t.lua"] = TICKS:format("a", "a") }
    there.session:send(client.request("u.timer", "[400]", 77))
    files.write(self.dir .. "/u.lua", SCRIPT .. "\n-- changed\n")
    self:wait_log("generation=2")
    assert.matches('"result":"rang","id":77', there.session:next())
  end)
end)

describe("a script that asks for the host's signals", function()
  it("is refused, and gets others", function()
    local there, self = support.serve_client { ["init.lua"] = [[
      local uv = require "luv"
      local M = {}
      function M.take(name)
        local signal = uv.new_signal()
        return (pcall(signal.start, signal, name, print))
      end
      function M.once(name)
        return (pcall(uv.signal_start_oneshot, uv.new_signal(), name, print))
      end
      return M]] }
    local names = { '"sigterm"', '"sigint"', '"sighup"', "15", "2.5", '"1"', '"sigalrm"' }
    for _, name in ipairs(names) do
      assert.is_false(there:result("take", "[" .. name .. "]"), name)
      assert.is_false(there:result("once", "[" .. name .. "]"), name)
    end
    assert.is_true(there:result("take", '["sigusr1"]'))
    assert.is_true(there:result("once", '["sigusr2"]'))
    self:kill()
    assert.equal(0, (self:wait_exit()))
  end)
end)

describe("a script that changes the working directory", function()
  local METHODS = { ["api/go.lua"] = 'return function() require("luv").chdir("/") end',
    ["api/v.lua"] = "return function() return 1 end" }

  it("leaves reloads and the socket file in their places", function()
    local dir = files.temp(METHODS)
    local self = support.program.start({ "serve", "api", "--listen", "tcp://127.0.0.1:0",
      "--listen", "unix:socket" }, { cwd = dir })
    self:wait_listening(2)
    local there = client.open(self.urls[1])
    there:result("go")
    files.write(dir .. "/api/v.lua", "return function() return 2 end")
    loop.wait(function()
      if there:result("v") == 2 then return true end
      loop.pass(0.01)
    end, nil, "the new answer")
    assert.is_true(files.exists(dir .. "/socket"))
    self:kill()
    assert.equal(0, (self:wait_exit()))
    assert.is_false(files.exists(dir .. "/socket"))
  end)
end)
