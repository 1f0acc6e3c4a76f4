-- rpc.connect: clients whose servers are started, killed and started again.
local uv = require "luv"
local support = require "support"
local files, loop, program = support.files, support.loop, support.program

local side = require "support.front"
local front, run, try, later = side.front, side.run, side.try, side.later
local BACKEND = side.BACKEND

local function serve(url, env)
  return support.serve(BACKEND, { listen = { url }, env = env })
end

local function kill(server)
  server:kill("sigkill")
  server:wait_exit()
end

-- A socket's address, so that a server can come back under it.
local function address()
  return "unix:" .. files.temp() .. "/s"
end

local function hits(dir, name)
  local path = dir .. "/" .. name
  return files.exists(path) and #files.read(path) or 0
end

describe("rpc.connect", function()
  after_each(support.clean)

  it("calls over every transport, and can be called back", function()
    local dir = files.temp()
    local backend = support.serve(BACKEND, { listen = { "http://127.0.0.1:0", "tcp://127.0.0.1:0",
      "unix:" .. dir .. "/a", "http+unix:" .. dir .. "/b" } })
    local path = files.temp(BACKEND)
    local exec = program.path .. " serve " .. path .. " --listen stdio:"
    local urls = { table.unpack(backend.urls) }
    urls[#urls + 1] = urls[1]:gsub("^http", "ws")
    urls[#urls + 1] = urls[2] .. "?framing=header"
    urls[#urls + 1] = "exec:" .. exec
    urls[#urls + 1] = "exec+header:" .. exec
    for _, url in ipairs(urls) do
      local self = front(url)
      assert.equal(5, run(self, "return c:call('add', { 2, 3 })"), url)
      assert.equal(false, run(self, "return c:closed()"))
      assert.same({ code = -7, message = "No" }, try(self, "c:call('fail', { -7, 'No' })"))
      if not url:find("^http") then
        assert.equal(42, run(self, "return c:call('back', { 'double', { 21 } })"), url)
      end
      assert.equal(url, run(self, "return c.address"))
      assert.equal(url:match("^%a+"), run(self, "return c.transport"))
      self:kill("sigkill")
    end
  end)

  it("works at a file's top level, in calls, in tasks and in timers", function()
    local url = serve(address()).urls[1]
    local self = front(url, nil, { ["top.lua"] = [[
      local c = rpc.connect(os.getenv "URL")
      local sum = c:call("add", { 1, 2 })
      local M = { timer = 0 }
      rpc.after(0, function() M.timer = rpc.connect(os.getenv "URL"):call("add", { 3, 4 }) end)
      return { sum = function() return sum end, timer = function() return M.timer end,
        call = function() return rpc.connect(os.getenv "URL"):call("add", { 5, 6 }) end,
        task = function()
          return rpc.spawn(function() return c:call("add", { 7, 8 }) end):wait()
        end }]] })
    assert.equal(3, self.client:result("top.sum"))
    assert.equal(11, self.client:result("top.call"))
    assert.equal(15, self.client:result("top.task"))
    loop.wait(function() return self.client:result("top.timer") == 7 end, nil, "the timer")
  end)

  it("raises when the first connection fails", function()
    local self = front(serve(address()).urls[1])
    local failed = try(self, "rpc.connect('tcp://127.0.0.1:1')")
    assert.equal(-32057, failed.code)
    assert.equal("The peer went away: 127.0.0.1 port 1: connection refused", failed.message)
    failed = try(self, "rpc.connect('exec:no-such-program')")
    assert.equal("The peer went away: no-such-program: no such file or directory", failed.message)
    assert.matches("code:1: ftp://a: a URL must begin", try(self, "rpc.connect('ftp://a')").message)
  end)

  it("says what is wrong with its arguments", function()
    local self = front(serve(address()).urls[1])
    for code, message in pairs {
      ["rpc.connect()"] = "code:1: the address must be a string, not a nil",
      ["rpc.connect('tcp://a:1', 5)"] = "code:1: options must be a table, not a number",
      ["rpc.connect('tcp://a:1', { retries = 1 })"] = "code:1: there is no option 'retries'",
      ["rpc.connect('tcp://a:1', { timeout = 0 })"] =
        "code:1: option timeout must be a positive number",
      ["c:call('add', {}, { idempotent = 1 })"] = "code:1: option idempotent must be a boolean",
      ["c.call('add')"] = "code:1: a client is needed",
      ["c.name = 1"] = "code:1: a client's field 'name' can't be set",
    } do
      local said = try(self, code).message
      assert.equal(message, said:sub(1, #message))
    end
  end)

  it("comes back when the server does; calls wait for that", function()
    local url = address()
    local backend = serve(url)
    local self = front(url)
    local first = run(self, "return c:call('pid')")
    assert.equal(backend.pid, first)
    kill(backend)
    self:wait_log("connection lost")
    local answer = later(self, "do", "return c:call('pid', nil, { timeout = 10 })")
    assert.is_true(self.client:result("do", '["return not c:closed()"]'))
    local again = serve(url)
    assert.equal(again.pid, answer().result)
  end)

  it("raises at once for a call that was under way, and never sends it twice", function()
    local url, dir = address(), files.temp()
    local backend = serve(url, { HITS = dir })
    local self = front(url)
    local answer = later(self, "try", "c:call('hit', { 'once' })")
    backend:wait_log("info  hit")
    kill(backend)
    local result = answer().result
    assert.equal(-32057, result.code)
    assert.matches("^The peer went away", result.message)
    serve(url, { HITS = dir })
    run(self, "return c:call('add', { 1, 1 })")
    assert.equal(1, hits(dir, "once"))
  end)

  it("sends an idempotent call again, three times at most", function()
    local url, dir = address(), files.temp()
    local backend = serve(url, { HITS = dir })
    local self = front(url)
    local answer = later(self, "try", "c:call('hit', { 'again' }, { idempotent = true })")
    for i = 1, 3 do
      backend:wait_log("info  hit")
      assert.equal(i, hits(dir, "again"))
      kill(backend)
      if i < 3 then backend = serve(url, { HITS = dir }) end
    end
    assert.equal(-32057, answer().result.code)
    serve(url, { HITS = dir })
    run(self, "return c:call('add', { 1, 1 })")
    assert.equal(3, hits(dir, "again"))
  end)

  it("gives up waiting for a server at the call's timeout, and says why", function()
    local url = address()
    local backend = serve(url)
    local self = front(url)
    kill(backend)
    self:wait_log("connection lost")
    local failed = try(self, "c:call('add', { 1, 2 }, { timeout = 1 })")
    assert.equal(-32051, failed.code)
    assert.matches("^Timed out: .*connection refused", failed.message)
  end)

  it("waits between tries, longer and longer, at random", function()
    -- A server that takes connections and ends them counts the tries.
    local path, times = address():sub(6), {}
    local server = uv.new_pipe(false)
    assert(server:bind(path))
    server:listen(16, function()
      local pipe = uv.new_pipe(false)
      server:accept(pipe)
      pipe:close()
      times[#times + 1] = loop.now()
    end)
    front("unix:" .. path, "{ retry = true, backoff_min = 0.02, backoff_max = 0.08 }")
    local from = loop.now()
    loop.wait(function() return #times >= 30 end, nil, "tries")
    server:close()
    local longest = 0
    for i = 2, #times do longest = math.max(longest, times[i] - times[i - 1]) end
    -- On average half of the longest pause: 30 tries take a second or so.
    assert.is_true(loop.now() - from > 0.3, "too fast: " .. loop.now() - from)
    assert.is_true(longest > 0.02 and longest < 2, "longest: " .. longest)
  end)

  it("holds nothing of calls that gave up meanwhile", function()
    local self = front("unix:" .. files.temp() .. "/nobody", "{ retry = true }")
    local grown = run(self, [[
      local function give_up(times)
        for _ = 1, times do
          rpc.spawn(function() pcall(c.call, c, "add", nil, { timeout = 0.001 }) end)
        end
        rpc.sleep(0.2)
        collectgarbage() collectgarbage()
        return collectgarbage "count"
      end
      rpc.spawn(function() pcall(c.call, c, "add") end)
      rpc.sleep(0.01)
      give_up(1000)
      local before = give_up(1000)
      for _ = 1, 9 do give_up(1000) end
      return give_up(1000) - before
    ]])
    assert.is_true(grown < 500, "KiB: " .. grown)
  end)

  it("doesn't come back when it isn't to", function()
    local url = address()
    local backend = serve(url)
    local self = front(url, "{ reconnect = false }")
    run(self, "return c:call('add', { 1, 1 })")
    kill(backend)
    loop.wait(function() return run(self, "return c:closed()") end, nil, "its end")
    serve(url)
    assert.equal("The peer went away: the connection was closed",
      try(self, "c:call('add', { 1, 1 })").message)
  end)

  it("says why the server closed", function()
    local backend = support.serve({ ["init.lua"] = [[
      return { bye = function(reason) rpc.peer():close(reason) end }]] })
    local self = front(backend.urls[1]:gsub("^http", "ws"), "{ reconnect = false }")
    try(self, "c:call('bye', { 'come back on Monday' })")
    loop.wait(function() return run(self, "return c:closed()") end, nil, "its end")
    assert.equal("The peer went away: the server has closed the connection: come back on Monday",
      try(self, "c:call('bye')").message)
  end)

  it("tells of each connection", function()
    local url = address()
    local backend = serve(url)
    local self = front(url, [[{ on_connect = function(c)
      rpc.log.info("connected", { sum = c:call("add", { 1, 2 }) }) end }]])
    local _, past = self:wait_log("connected  sum=3")
    kill(backend)
    self:wait_log("connection lost")
    serve(url)
    self:wait_log("connected  sum=3", nil, past)
  end)

  it("keeps calls beyond in_flight waiting, in order", function()
    local self = front(serve(address()).urls[1], "{ in_flight = 2 }")
    local took = run(self, [[
      local order, tasks, since = {}, {}, rpc.now()
      for i = 1, 6 do
        tasks[i] = rpc.spawn(function()
          local tag = c:call("sleep", { 0.1, i })
          order[#order + 1] = tag
        end)
      end
      for _, task in ipairs(tasks) do task:wait() end
      return { order = order, seconds = rpc.now() - since }]])
    assert.same({ 1, 2, 3, 4, 5, 6 }, took.order)
    assert.is_true(took.seconds >= 0.29, tostring(took.seconds))
  end)

  it("gives places back, however a call ends", function()
    local self = front(serve(address()).urls[1], "{ in_flight = 1 }")
    assert.equal("Timed out", try(self, "c:call('sleep', { 5 }, { timeout = 0.1 })").message)
    assert.equal("Timed out", try(self, [[
      rpc.spawn(function() c:call("sleep", { 0.3 }) end)
      c:call("add", { 1, 2 }, { timeout = 0.1 })]]).message)
    run(self, [[
      local tasks = {}
      for i = 1, 3 do tasks[i] = rpc.spawn(function() pcall(c.call, c, "sleep", { 5 }) end) end
      for i = 3, 1, -1 do tasks[i]:cancel() end
      for i = 1, 3 do tasks[i]:wait() end]])
    assert.equal(3, run(self, "return c:call('add', { 1, 2 }, { timeout = 2 })"))
  end)

  it("tells the server that nobody waits any more", function()
    local backend = support.serve({ ["hang.lua"] = [[
      return function()
        local _, err = pcall(rpc.sleep, 100)
        rpc.log.info(err == rpc.cancelled and "cancelled" or "not cancelled")
      end]] }, { listen = { "tcp://127.0.0.1:0" } })
    local self = front(backend.urls[1])
    try(self, "c:call('hang', nil, { timeout = 0.1 })")
    backend:wait_log("info  cancelled")
  end)

  it("makes a new HTTP connection in silence when the server ended an idle one", function()
    local backend = support.serve(BACKEND, { listen = { "http://127.0.0.1:0" },
      config = "{ limits = { idle_time = 0.2 } }" })
    local self = front(backend.urls[1])
    assert.equal(3, run(self, "return c:call('add', { 1, 2 })"))
    local first = run(self, "return c.id")
    assert.equal(7, run(self, "return c:call('add', { 3, 4 })"))
    assert.equal(first, run(self, "return c.id"))
    loop.wait(function() return run(self, "return c.id or 0") == 0 end, nil, "the end")
    assert.equal(11, run(self, "return c:call('add', { 5, 6 })"))
    assert.is_nil(self.err:find("error", 1, true), self.err)
  end)

  it("closes with the file that made it, and what waits raises", function()
    local url = address()
    local backend = support.serve({ ["init.lua"] = [[
      rpc.on("connect", function() rpc.log.info("came") end)
      rpc.on("disconnect", function() rpc.log.info("went") end)
      return { hang = function() rpc.log.info("hangs") rpc.sleep(100) end }]] },
      { listen = { url } })
    local self = front(url)
    local answer = later(self, "try", "c:call('hang')")
    local _, past = backend:wait_log("hangs")
    files.write(self.dir .. "/init.lua", "return { done = function() return true end }")
    local result = answer().result
    assert.equal(-32057, result.code)
    backend:wait_log("went", nil, past)
    assert.is_true(self.client:result("done"))
  end)

  it("closes when nobody holds the client any more", function()
    local backend = support.serve({ ["init.lua"] = [[
      rpc.on("disconnect", function() rpc.log.info("went") end)
      return { x = function() return 1 end }]] }, { listen = { address() } })
    local self = front(backend.urls[1])
    run(self, "rpc.connect(os.getenv 'URL'):call('x')")
    run(self, "collectgarbage() collectgarbage() rpc.sleep(0) collectgarbage()")
    backend:wait_log("went")
    assert.equal(1, run(self, "return c:call('x')"))
  end)

  it("finishes calls under way while its own host drains", function()
    local self = front(serve(address()).urls[1])
    local answer = later(self, "do", "return c:call('sleep', { 0.5, 'done' })")
    loop.pass(0.2)
    self:kill("sigterm")
    assert.equal("done", answer().result)
    assert.equal(0, self:wait_exit())
    assert.is_nil(self.err:find("connection lost", 1, true), self.err)
  end)

  it("sends header fields over HTTP and WebSocket", function()
    local backend = support.serve { ["token.lua"] =
      "return function() return rpc.peer().headers.authorization end" }
    local http = backend.urls[1]
    for _, url in ipairs { http, (http:gsub("^http", "ws")) } do
      local self = front(url, "{ headers = { Authorization = 'Bearer t0ken', ['X-A'] = 'b' } }")
      assert.equal("Bearer t0ken", run(self, "return c:call('token')"))
      assert.equal("Bearer t0ken", run(self, "return c:call('token')"))
      for options, message in pairs {
        ["{ Host = 'x' }"] = "option headers: Host can't be set: it is the connection's own",
        ["{ ['Sec-WebSocket-Key'] = 'x' }"] = "option headers: Sec-WebSocket-Key can't be set:",
        ["{ A = 'x\\r\\nB: y' }"] = "option headers: A can't be set to that",
        ["{ ['A b'] = 'x' }"] = "option headers: A b can't be set to that",
      } do
        local code = ("rpc.connect('%s', { headers = %s })"):format(url, options)
        assert.matches(message, try(self, code).message, 1, true)
      end
      assert.matches("headers is for HTTP",
        try(self, "rpc.connect('tcp://a:1', { headers = {} })").message)
    end
  end)

  it("ends its program with the host", function()
    local path = files.temp(BACKEND)
    local self = front("exec:" .. program.path .. " serve " .. path .. " --listen stdio:")
    local pid = run(self, "return c:call('pid')")
    assert.equal(0, uv.kill(pid, 0))
    assert.equal(0, self:stop())
    assert.is_nil(uv.kill(pid, 0))
  end)
end)
