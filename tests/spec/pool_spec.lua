-- rpc.connect over HTTP: several connections, each with one call at a time.
local uv = require "luv"
local support = require "support"
local files, loop = support.files, support.loop
local side = require "support.front"
local front, run, try, later = side.front, side.run, side.try, side.later

local HTTP = "http://127.0.0.1:0"

local function unix()
  return "http+unix:" .. files.temp() .. "/s"
end

local function serve(url, options)
  options = options or {}
  options.listen, options.dev = { url }, true
  return support.serve(side.BACKEND, options)
end

-- Calls `sleep` for a time with the tags 1 to n, all at once.
local GATHER = [[
  local function gather(n, seconds, options)
    local order, tasks = {}, {}
    for i = 1, n do
      tasks[i] = rpc.spawn(function()
        local tag = c:call("sleep", { seconds, i }, options)
        order[#order + 1] = tag
      end)
    end
    for _, task in ipairs(tasks) do task:wait() end
    return order
  end ]]

local OPEN = "return c:call('rpc.status').counters.open"

describe("rpc.connect over HTTP", function()
  after_each(support.clean)

  it("lets no call wait for a slow one", function()
    for _, url in ipairs { HTTP, unix() } do
      local self = front(serve(url).urls[1])
      local slow = later(self, "do", "return c:call('sleep', { 60 })")
      loop.wait(function() return run(self, "return c:call('most')") == 1 end, nil, "the slow one")
      assert.equal(3, run(self, "return c:call('add', { 1, 2 }, { timeout = 5 })"))
      assert.is_function(slow)
    end
  end)

  it("has as many connections as are allowed, and calls beyond wait in order", function()
    local cases = { ["{ connections = 1 }"] = 1, ["{ connections = 2 }"] = 2, ["nil"] = 8 }
    for options, most in pairs(cases) do
      local self = front(serve(HTTP).urls[1], options)
      local order = run(self, GATHER .. "return gather(10, 0.05)")
      assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, order)
      assert.equal(most, run(self, "return c:call('most')"))
      assert.equal(most, run(self, OPEN), options)
    end
  end)

  it("uses the connection again that was used last", function()
    local self = front(serve(HTTP).urls[1])
    assert.is_true(run(self, GATHER .. [[
      gather(3, 0.02)
      local id = c.id
      for i = 1, 5 do c:call("add", { i, i }) end
      return c.id == id]]))
    assert.equal(3, run(self, OPEN))
  end)

  it("closes idle connections after idle_time", function()
    local self = front(serve(HTTP).urls[1], "{ idle_time = 0.3 }")
    run(self, GATHER .. "gather(4, 0.02)")
    loop.wait(function() return run(self, OPEN) == 1 end,
      nil, "the end of the others")
    loop.wait(function() return run(self, "return c.id == nil") end, nil, "the end of the last")
    assert.equal(3, run(self, "return c:call('add', { 1, 2 })"))
    assert.is_nil(self.err:find("warn", 1, true), self.err)
  end)

  it("tells the server of calls that are given up, and harms no others", function()
    for _, url in ipairs { HTTP, unix() } do
      local backend = serve(url)
      local self = front(backend.urls[1], "{ reconnect = false }")
      local other = later(self, "do", "return c:call('sleep', { 1.5, 'other' })")
      local err = try(self, "c:call('sleep', { 60, 'late' }, { timeout = 0.1 })")
      assert.equal(-32051, err.code)
      local _, past = backend:wait_log("cancelled  tag=late")
      run(self, [[
        local task = rpc.spawn(function() c:call("sleep", { 60, "cancelled" }) end)
        rpc.sleep(0.1)
        task:cancel()]])
      backend:wait_log("cancelled  tag=cancelled", nil, past)
      assert.equal("other", other().result)
      assert.is_nil(backend.err:find("tag=other", 1, true), backend.err)
      assert.equal(3, run(self, "return c:call('add', { 1, 2 })"))
    end
  end)

  it("gives the place of a call that was given up to the next", function()
    local self = front(serve(HTTP).urls[1], "{ connections = 1 }")
    for _ = 1, 3 do
      assert.equal(-32051, try(self, "c:call('sleep', { 60 }, { timeout = 0.05 })").code)
    end
    run(self, [[
      local tasks = {}
      for i = 1, 4 do tasks[i] = rpc.spawn(function() pcall(c.call, c, "sleep", { 60 }) end) end
      for i = 4, 1, -1 do tasks[i]:cancel() end
      for i = 1, 4 do tasks[i]:wait() end]])
    assert.equal(3, run(self, "return c:call('add', { 1, 2 }, { timeout = 5 })"))
    assert.equal(1, run(self, OPEN))
  end)

  it("replaces idle connections in silence when the server comes back", function()
    local url = unix()
    local backend = serve(url)
    local self = front(url, "{ idle_time = 60 }")
    run(self, GATHER .. "gather(8, 0.02)")
    backend:kill("sigkill")
    backend:wait_exit()
    local again = serve(url)
    loop.wait(function() return run(self, "return c.id == nil") end, nil, "their end")
    assert.equal(again.pid, run(self, "return c:call('pid')"))
    assert.is_nil(self.err:find("warn", 1, true), self.err)
  end)

  it("fails the calls of a server that dies, each at once and never sent twice", function()
    local url, dir = unix(), files.temp()
    local backend = serve(url, { env = { HITS = dir } })
    local self = front(url)
    local answers = {}
    for i = 1, 3 do answers[i] = later(self, "try", ("c:call('hit', { '%d' })"):format(i)) end
    local past
    for _ = 1, 3 do _, past = backend:wait_log("info  hit", nil, past) end
    backend:kill("sigkill")
    backend:wait_exit()
    for i = 1, 3 do assert.equal(-32057, answers[i]().result.code) end
    -- Eight calls that wait come through when it is back.
    local waiting = later(self, "do", GATHER .. "return #gather(8, 0.02, { timeout = 10 })")
    self:wait_log("connection lost")
    serve(url, { env = { HITS = dir } })
    assert.equal(8, waiting().result)
    for i = 1, 3 do assert.equal("x", files.read(dir .. "/" .. i)) end
  end)

  it("sends an idempotent call again, three times at most", function()
    local url, dir = unix(), files.temp()
    local backend = serve(url, { env = { HITS = dir } })
    local self = front(url)
    local answer = later(self, "try", "c:call('hit', { 'again' }, { idempotent = true })")
    for i = 1, 3 do
      backend:wait_log("info  hit")
      backend:kill("sigkill")
      backend:wait_exit()
      if i < 3 then backend = serve(url, { env = { HITS = dir } }) end
    end
    assert.equal(-32057, answer().result.code)
    assert.equal("xxx", files.read(dir .. "/again"))
  end)

  it("is closed by the end of a connection only when it isn't to come back", function()
    local url = unix()
    local backend = serve(url)
    local self = front(url, "{ reconnect = false }")
    local answer = later(self, "try", "c:call('sleep', { 60 })")
    loop.wait(function() return run(self, "return c:call('most')") == 1 end, nil, "the call")
    backend:kill("sigkill")
    backend:wait_exit()
    assert.equal(-32057, answer().result.code)
    assert.is_true(run(self, "return c:closed()"))
    assert.matches("^The peer went away", try(self, "c:call('add', { 1, 2 })").message)
  end)

  it("ends its calls when it is closed", function()
    local backend = serve(HTTP)
    local self = front(backend.urls[1], "{ connections = 2 }")
    local answers = {}
    for i = 1, 3 do answers[i] = later(self, "try", "c:call('sleep', { 60, 'last' })") end
    loop.wait(function() return run(self, "return c.id == nil") end, nil, "the calls")
    run(self, "c:close()")
    for i = 1, 3 do
      assert.equal("The peer went away: it was closed", answers[i]().result.message)
    end
    backend:wait_log("cancelled  tag=last")
  end)

  it("notifies in order, and hears of refusals", function()
    local backend = support.serve({ ["note.lua"] = [[
      return function(i) rpc.log.info("note", { i = i }) rpc.sleep(0.5) rpc.log.info("end") end
    ]] }, { listen = { HTTP } })
    local self = front(backend.urls[1])
    run(self, "for i = 1, 4 do c:notify('note', { i }) end")
    local past
    for i = 1, 4 do
      local line
      line, past = backend:wait_log("info  note", nil, past)
      assert.matches("i=" .. i, line, 1, true)
    end
    assert.equal(-32057, try(front(backend.urls[1] .. "/nowhere", "{ timeout = 1 }"),
      "c:notify('note')").code)
  end)

  it("harms no notification by a call that is given up later", function()
    for _, options in ipairs { "nil", "{ connections = 1 }" } do
      local backend = support.serve(side.BACKEND, { listen = { HTTP } })
      local self = front(backend.urls[1], options)
      run(self, "c:notify('sleep', { 1, 'note' })")
      assert.equal(-32051, try(self, "c:call('sleep', { 60, 'call' }, { timeout = 0.1 })").code)
      backend:wait_log("cancelled  tag=call")
      run(self, "c:notify('sleep', { 1, 'note' }) c:notify('sleep', { 1, 'note' })")
      assert.equal(3, run(self, "return c:call('sleep', { 1.5, 3 })"))
      assert.is_nil(backend.err:find("tag=note", 1, true), backend.err)
    end
  end)

  it("sends nothing behind a notification that isn't taken", function()
    -- A server that never answers what comes first.
    local server, seen = uv.new_tcp(), {}
    server:bind("127.0.0.1", 0)
    server:listen(16, function()
      local tcp, text = uv.new_tcp(), ""
      server:accept(tcp)
      tcp:read_start(function(err, data)
        if err or not data then return tcp:close() end
        text = text .. data
        if not text:find("}", 1, true) then return end
        seen[#seen + 1], text = text, ""
        if #seen > 1 then
          tcp:write("HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n" ..
            '{"jsonrpc":"2.0","id":1,"result":42}')
        end
      end)
    end)
    local self = front("http://127.0.0.1:" .. server:getsockname().port)
    local answer = later(self, "try", "c:notify('first', nil, { timeout = 1 })")
    loop.wait(function() return #seen == 1 end, nil, "the notification")
    assert.equal(42, run(self, "return c:call('second')"))
    assert.equal(-32051, answer().result.code)
    server:close()
  end)

  it("calls on_connect when there was no connection before", function()
    local backend = serve(HTTP)
    local self = front(backend.urls[1], [[{ on_connect = function(c)
      rpc.log.info("connected", { sum = c:call("add", { 1, 2 }) }) end }]])
    self:wait_log("connected  sum=3")
    run(self, GATHER .. "gather(8, 0.02)")
    local _, count = self.err:gsub("connected  sum=3", "")
    assert.equal(1, count)
  end)

  it("holds up no end of its host", function()
    local self = front(serve(HTTP).urls[1], "{ idle_time = 60 }")
    run(self, GATHER .. "gather(4, 0.02)")
    local from = loop.now()
    assert.equal(0, self:stop())
    assert.is_true(loop.now() - from < 5, tostring(loop.now() - from))
  end)

  it("refuses options that are for HTTP elsewhere", function()
    local self = front(serve(HTTP).urls[1])
    for _, option in ipairs { "connections", "idle_time" } do
      assert.matches("option " .. option .. " is for HTTP",
        try(self, ("rpc.connect('tcp://a:1', { %s = 2 })"):format(option)).message)
    end
  end)
end)
