-- Pulling cables: whoever dies, hangs or goes half, at whatever step of a
-- conversation, takes nobody with it and leaves nothing behind.
local cjson = require "cjson"
local support = require "support"
local client, conn, loop, wire = support.client, support.conn, support.loop, support.wire
local request = client.request

-- Methods that know how many of them have begun and how many have ended.
local SERVICE = {
  ["cable.lua"] = [[
    local M, s = {}, rpc.state("cable")
    s.begun, s.ended, s.gone = 0, 0, 0
    local function guard()
      s.begun = s.begun + 1
      return setmetatable({}, { __close = function() s.ended = s.ended + 1 end })
    end
    function M.doze()
      local _ <close> = guard()
      rpc.sleep(100)
    end
    function M.ask()
      local _ <close> = guard()
      return rpc.peer():call("question", { "why" }, { timeout = 100 })
    end
    function M.ask_for(seconds)
      local _ <close> = guard()
      return rpc.peer():call("question", { "why" }, { timeout = seconds })
    end
    function M.nap()
      local _ <close> = guard()
      rpc.sleep(0.5)
      return "rested"
    end
    function M.spin(seconds)
      local till = rpc.now() + seconds
      while rpc.now() < till do end
    end
    function M.big(size)
      local _ <close> = guard()
      return ("x"):rep(size)
    end
    function M.counts() return { s.begun, s.ended, s.gone } end
    function M.echo(value) return value end
    rpc.on("disconnect", function() s.gone = s.gone + 1 end)
    return M]],
  ["news.lua"] = [[
    local M, topic = {}, rpc.topic("news")
    function M.subscribe() topic:add(rpc.peer()) return topic:count() end
    function M.publish(size, from, to)
      local text, sent = ("n"):rep(size), 0
      for i = from, to do sent = sent + topic:publish("news", { i, text }) end
      return sent
    end
    function M.count() return topic:count() end
    return M]],
}

-- Where clients that die connect; `kind` is how they frame messages.
local PLACES = {
  { name = "tcp, line", url = "tcp://127.0.0.1:0", kind = "line" },
  { name = "tcp, header", url = "tcp://127.0.0.1:0", kind = "header" },
  { name = "unix", url = "unix:DIR/line.sock", kind = "line" },
  { name = "http", url = "http://127.0.0.1:0", kind = "http" },
  { name = "http+unix", url = "http+unix:DIR/http.sock", kind = "http" },
  { name = "ws", url = "http://127.0.0.1:0", kind = "ws" },
  { name = "ws+unix", url = "http+unix:DIR/ws.sock", kind = "ws" },
}

local HALF_CLOSED = 0.3

local function start(limits, half_closed, more)
  local dir = support.files.temp()
  local listen = {}
  for i, place in ipairs(PLACES) do listen[i] = place.url:gsub("DIR", dir) end
  listen[#listen + 1] = "unix:" .. dir .. "/observer.sock"
  local self = support.serve(SERVICE, { dev = true, listen = listen, args = more,
    config = ("{ limits = { half_closed = %g, %s } }"):format(half_closed or HALF_CLOSED,
      limits or "") })
  self.observer = client.open(self.urls[#self.urls])
  self.observer:result("cable.counts")
  self.before = self:descriptors()
  return self
end

local function open(self, place, options)
  for i, other in ipairs(PLACES) do
    if other == place then
      local connection = conn.open(self.urls[i], options)
      if place.kind == "ws" then
        connection:resume()
        wire.ws.open(connection)
        if options and options.reading == false then connection:pause() end
      end
      return connection
    end
  end
end

local function counts(self)
  return table.unpack(self.observer:result("cable.counts"))
end

local function counters(self)
  return self.observer:result("rpc.status").counters
end

-- Waits until it is as if nothing had ever been, but for the observer.
local function is_as_before(self)
  local begun, ended, now, files
  loop.poll(function()
    begun, ended = counts(self)
    now, files = counters(self), self:descriptors()
    if begun == ended and now.open == 1 and now.in_flight == 1 and now.pending == 0
      and now.held_bytes == 0 and files == self.before then return true end
  end, nil, function()
    return ("all to be as before: %s begun, %s ended, %s of %s descriptors, %s\n%s"):format(
      begun, ended, files, self.before, cjson.encode(now), self.err:sub(-2000))
  end)
end

-- Steps of a conversation: each leaves the connection in the midst of something.
local STEPS = {
  { name = "before anything is said", run = function() end },
  { name = "before its request is whole", run = function(_, connection, wrap)
    local bytes = wrap(request("cable.doze", nil, 1))
    connection:send(bytes:sub(1, #bytes // 2)):flush()
  end },
  { name = "right behind its request", run = function(_, connection, wrap)
    connection:send(wrap(request("cable.doze", nil, 1))):flush()
  end },
  { name = "while its handler waits", run = function(self, connection, wrap)
    local before = counts(self)
    connection:send(wrap(request("cable.doze", nil, 1)))
    loop.poll(function() return (counts(self)) > before end, nil, "a handler to begin")
  end },
  { name = "while a batch of its calls waits", run = function(self, connection, wrap)
    local before = counts(self)
    local calls = {}
    for i = 1, 20 do calls[i] = request("cable.doze", nil, i) end
    connection:send(wrap("[" .. table.concat(calls, ",") .. "]"))
    loop.poll(function() return (counts(self)) == before + 20 end, nil, "handlers to begin")
  end },
  { name = "while calls to it wait", both_ways = true, run = function(_, connection, wrap, read)
    for i = 1, 10 do connection:send(wrap(request("cable.ask", nil, i))) end
    for _ = 1, 10 do assert.equal("question", cjson.decode(read(connection)).method) end
  end },
  { name = "in the midst of its answer to a call", both_ways = true,
    run = function(_, connection, wrap, read)
      connection:send(wrap(request("cable.ask", nil, 1)))
      local id = cjson.decode(read(connection)).id
      local bytes = wrap(('{"jsonrpc":"2.0","result":"because","id":%d}'):format(id))
      connection:send(bytes:sub(1, #bytes - 4)):flush()
    end },
  { name = "in the midst of an answer larger than the sockets hold", deaf = true,
    run = function(self, connection, wrap)
      connection:send(wrap(request("cable.big", "[12000000]", 1)))
      loop.poll(function() return counters(self).held_bytes > 0 end, nil, "output to be held")
    end },
  { name = "with many requests behind an answer that it doesn't read", deaf = true,
    run = function(self, connection, wrap)
      connection:send(wrap(request("cable.big", "[12000000]", 1)))
      loop.poll(function() return counters(self).held_bytes > 0 end, nil, "output to be held")
      for i = 1, 100 do connection:send(wrap(request("cable.doze", nil, i + 1))) end
    end },
}

-- Ways to end a connection. `tcp`: only there.
local CUTS = {
  { name = "closes", cut = function(connection) connection:close() end },
  { name = "is killed", cut = function(connection) connection:kill() end },
  { name = "resets", tcp = true, cut = function(connection) connection:reset() end },
  { name = "ends its sending, reads no more,", cut = function(connection)
    connection:pause()
    connection:finish()
  end, stays = true },
}

after_each(support.clean)

describe("a client that", function()
  for _, place in ipairs(PLACES) do
    for _, how in ipairs(CUTS) do
      if not how.tcp or not place.url:find("unix", 1, true) then
        it(("%s on %s at any step harms nobody and leaves nothing"):format(how.name, place.name),
          function()
            local self = start()
            for _, step in ipairs(STEPS) do
              if not step.both_ways or place.kind ~= "http" then
                local connection = open(self, place, { reading = not step.deaf })
                step.run(self, connection, wire[place.kind].wrap, wire[place.kind].read)
                how.cut(connection)
                assert.equal(7, self.observer:result("cable.echo", "[7]"), step.name)
                if not (how.stays and step.deaf) then
                  local ok, err = pcall(is_as_before, self)
                  assert(ok, step.name .. ": " .. tostring(err))
                end
                if how.stays then connection:close() end
                local ok, err = pcall(is_as_before, self)
                assert(ok, step.name .. ", at its end: " .. tostring(err))
              end
            end
          end)
      end
    end
  end
end)

-- A TCP connection that is closed looks like one that is half-closed until it is
-- written to; limits.half_closed ends it.
describe("a death is noticed soon", function()
  local function starts(self, url, count)
    local there = conn.open(url)
    for i = 1, count do there:send(wire.line.wrap(request("cable.doze", nil, i))) end
    loop.poll(function() return (counts(self)) == count end, nil, "handlers to begin")
    return there
  end

  it("on a Unix socket that is closed, not half-closed", function()
    local self = start(nil, 60)
    local there = starts(self, self.urls[3], 1)
    there:kill()
    is_as_before(self)
  end)

  it("on a Unix socket that is half-closed first", function()
    local self = start(nil, 60)
    local there = starts(self, self.urls[3], 1)
    there:finish()
    assert.equal(7, self.observer:result("cable.echo", "[7]"))
    assert.equal(2, counters(self).open)
    there:kill()
    is_as_before(self)
  end)

  it("by a reset behind a half-close", function()
    local self = start(nil, 60)
    local there = starts(self, self.urls[1], 1)
    there:finish()
    assert.equal(7, self.observer:result("cable.echo", "[7]"))
    assert.equal(2, counters(self).open)
    there:reset()
    is_as_before(self)
  end)

  it("by a reset while the limit of calls stops the reading", function()
    local self = start("in_flight = 2")
    local there = starts(self, self.urls[1], 2)
    there:reset()
    is_as_before(self)
  end)

  it("by a close while the limit of calls stops the reading, after limits.half_closed", function()
    local self = start("in_flight = 2")
    local there = starts(self, self.urls[1], 2)
    there:close()
    is_as_before(self)
  end)

  it("by a close while answers are held behind one that waits", function()
    local self = start("output = 1000")
    local there = conn.open(self.urls[4])
    there:send(wire.http.wrap(request("cable.doze", nil, 1)))
    there:send(wire.http.wrap(request("cable.big", "[10000]", 2)))
    loop.poll(function() return counters(self).held_bytes > 10000 end, nil, "output to be held")
    there:close()
    is_as_before(self)
  end)

  it("by a close of a Unix socket while the limit of calls stops the reading", function()
    local self = start("in_flight = 2")
    local there = starts(self, self.urls[3], 2)
    there:kill()
    is_as_before(self)
  end)
end)

-- A line, WebSocket or other session of a place that can be called.
local function both_ways(place)
  return place.kind ~= "http"
end

local function session(self, place, options)
  local connection = open(self, place, options)
  local there = client.over(support.transports.stream(connection, place.kind))
  there.connection = connection
  return there
end

describe("a subscriber that", function()
  -- Publishes messages `from` to `to` of `size` bytes; how often they were sent.
  local function publish(self, from, to, size)
    return self.observer:result("news.publish", ("[%d,%d,%d]"):format(size or 1000, from, to))
  end

  -- Reads the news `from` to `to`, all of them and in order.
  local function reads(there, from, to)
    for i = from, to do
      local text = there.session:next()
      assert.equal(i, cjson.decode(text).params[1])
    end
  end

  for _, place in ipairs(PLACES) do
    if both_ways(place) then
      it("stops reading is dropped at its limit on " .. place.name .. "; others notice nothing",
        function()
          local self = start("output = 100000")
          local sleeper, reader = session(self, place), session(self, place)
          assert.equal(1, sleeper:result("news.subscribe"))
          assert.equal(2, reader:result("news.subscribe"))
          sleeper.connection:pause()
          local at, sent = 0, 2
          while sent == 2 and at < 20000 do
            sent = publish(self, at + 1, at + 10) / 10
            reads(reader, at + 1, at + 10)
            at = at + 10
          end
          assert.is_true(at < 20000, "nobody was dropped")
          assert.equal(1, self.observer:result("news.count"))
          loop.poll(function() return counters(self).open == 2 end, nil, "its connection to close")
          assert.equal(20, publish(self, at + 1, at + 20))
          reads(reader, at + 1, at + 20)
          sleeper:close()
          reader:close()
          is_as_before(self)
        end)

      it("reads again before the limit has lost nothing on " .. place.name, function()
        local self = start("output = 1000000")
        local sleeper = session(self, place)
        assert.equal(1, sleeper:result("news.subscribe"))
        local at = 0
        for _ = 1, 3 do
          local from = at + 1
          sleeper.connection:pause()
          repeat
            assert.equal(4, publish(self, at + 1, at + 4, 50000))
            at = at + 4
          until counters(self).held_bytes > 500000
          sleeper.connection:resume()
          reads(sleeper, from, at)
          loop.poll(function() return counters(self).held_bytes == 0 end, nil, "output to leave")
        end
        assert.equal(7, sleeper:result("cable.echo", "[7]"))
        sleeper:close()
        is_as_before(self)
      end)
    end
  end

  it("publishes to itself and doesn't read is dropped, and nobody else", function()
    local self = start("output = 100000, reply = 1e6")
    local vain, reader = session(self, PLACES[1]), session(self, PLACES[1])
    vain:result("news.subscribe")
    reader:result("news.subscribe")
    vain.connection:pause()
    local sends = 0
    repeat
      vain:notify("news.publish", "[1000,1,10]")
      for _ = 1, 10 do reader.session:next() end
      sends = sends + 1
    until self.observer:result("news.count") == 1 or sends == 2000
    assert.is_true(sends < 2000, "nobody was dropped")
    assert.equal(10, publish(self, 1, 10))
    reads(reader, 1, 10)
    vain:close()
    reader:close()
    is_as_before(self)
  end)

  for _, how in ipairs { "close", "kill", "reset" } do
    it("goes by " .. how .. " while news are published leaves its topic", function()
      local self = start()
      local there, reader = session(self, PLACES[1]), session(self, PLACES[6])
      there:result("news.subscribe")
      reader:result("news.subscribe")
      there.connection:pause()
      publish(self, 1, 500)
      there.connection[how](there.connection)
      for at = 501, 1000, 10 do publish(self, at, at + 9) end
      reads(reader, 1, 1000)
      loop.poll(function() return self.observer:result("news.count") == 1 end, nil, "it to leave")
      reader:close()
      is_as_before(self)
      local _, _, gone = counts(self)
      assert.equal(2, gone)
    end)
  end
end)

describe("a client that is called and", function()
  local function question(there)
    local message = cjson.decode(there.session:next())
    assert.equal("question", message.method)
    return message.id
  end

  local function result(id, value)
    return ('{"jsonrpc":"2.0","result":%s,"id":%s}'):format(value, id)
  end

  for _, place in ipairs(PLACES) do
    if both_ways(place) then
      it("answers never, late, twice and for others is borne on " .. place.name, function()
        local self = start()
        local there, other = session(self, place), session(self, place)
        there.session:send(request("cable.ask_for", "[0.1]", 1))
        local late = question(there)
        local cancel, answer
        for _ = 1, 2 do
          local message = there.session:next()
          if message:find("cancelRequest", 1, true) then cancel = message else answer = message end
        end
        assert.equal(late, cjson.decode(cancel).params.id)
        assert.equal(-32051, cjson.decode(answer).error.code)
        there.session:send(result(late, '"late"'))

        there.session:send(request("cable.ask", nil, 2))
        local asked = question(there)
        other.session:send(result(asked, '"not mine"'))
        assert.equal(7, other:result("cable.echo", "[7]"))
        there.session:send(result('"' .. asked .. '"', '"text"'))
        there.session:send(result(asked + 1, '"another"'))
        there.session:send(result(asked, '"right"'))
        assert.equal('{"jsonrpc":"2.0","result":"right","id":2}', there.session:next())
        there.session:send(result(asked, '"again"'))
        assert.equal(7, there:result("cable.echo", "[7]"))
        local now = counters(self)
        assert.equal(5, now.stray_answers)
        assert.equal(0, now.pending)
        there:close()
        other:close()
        is_as_before(self)
      end)
    end
  end
end)

describe("what came in time counts, though the host", function()
  local function ask(self)
    local there = session(self, PLACES[1])
    there.session:send(request("cable.ask_for", "[1]", 1))
    local id = cjson.decode(there.session:next()).id
    return there, ('{"jsonrpc":"2.0","result":"in time","id":%d}'):format(id)
  end

  it("was held up by a method", function()
    local self = start()
    local there, answer = ask(self)
    self.observer:notify("cable.spin", "[1.3]")
    loop.pass(0.02)
    there.session:send(answer)
    assert.equal('{"jsonrpc":"2.0","result":"in time","id":1}', there.session:next())
  end)

  it("was stopped", function()
    local self = start()
    local there, answer = ask(self)
    self:kill("sigstop")
    there.session:send(answer)
    loop.pass(1.3)
    self:kill("sigcont")
    assert.equal('{"jsonrpc":"2.0","result":"in time","id":1}', there.session:next())
  end)

  it("was stopped while a request was on its way", function()
    local self = start("header_time = 1, body_time = 1, idle_time = 1")
    local bytes = wire.http.wrap(request("cable.echo", "[7]", 1))
    local there, idle = open(self, PLACES[4]), open(self, PLACES[4])
    there:send(bytes:sub(1, -10)):flush()
    loop.pass(0.1)
    self:kill("sigstop")
    there:send(bytes:sub(-9)):flush()
    idle:send(bytes):flush()
    loop.pass(1.3)
    self:kill("sigcont")
    assert.equal(200, wire.http.read(there).status)
    assert.equal(200, wire.http.read(idle).status)
  end)
end)

describe("a drain", function()
  -- Asks for it, and waits until no new connections are taken.
  local function drain(self)
    self:kill("sigterm")
    loop.poll(function()
      local ok, there = pcall(conn.open, self.urls[#self.urls])
      if ok then there:close() end
      return not ok
    end, nil, "listeners to close")
  end

  it("ends idle connections at once, each in its way", function()
    local self = start()
    local all = {}
    for i, place in ipairs(PLACES) do all[i] = open(self, place) end
    local used = open(self, PLACES[4])
    used:send(wire.http.wrap(request("cable.echo", "[7]", 1)))
    assert.equal(200, wire.http.read(used).status)
    self.observer:close()
    local from = loop.now()
    self:kill("sigterm")
    for i, place in ipairs(PLACES) do
      if place.kind == "ws" then
        assert.equal(1001, (wire.ws.read_close(all[i])), place.name)
        all[i]:send(wire.ws.frame(string.pack(">I2", 1001), wire.ws.CLOSE))
      end
      assert.equal("", all[i]:rest(), place.name)
    end
    assert.equal("", used:rest())
    assert.same({ 0, 0 }, { self:wait_exit() })
    assert.is_true(loop.now() - from < 5)
  end)

  for _, place in ipairs(PLACES) do
    it("lets a call in flight finish on " .. place.name, function()
      local self = start()
      local connection = open(self, place)
      connection:send(wire[place.kind].wrap(request("cable.nap", nil, 1)))
      loop.poll(function() return (counts(self)) == 1 end, nil, "the call to begin")
      self.observer:close()
      self:kill("sigterm")
      local answer
      if place.kind == "http" then
        answer = wire.http.read(connection).body
      else
        repeat answer = wire[place.kind].read(connection) until answer:find("result", 1, true)
      end
      assert.equal('{"jsonrpc":"2.0","result":"rested","id":1}', answer)
      assert.equal(0, (self:wait_exit()))
    end)
  end

  for _, place in ipairs(PLACES) do
    if both_ways(place) then
      it("lets a call out be answered on " .. place.name, function()
        local self = start()
        local there = session(self, place)
        there.session:send(request("cable.ask", nil, 1))
        local id = cjson.decode(there.session:next()).id
        self.observer:close()
        drain(self)
        assert.is_nil(self.code)
        there.session:send(('{"jsonrpc":"2.0","result":"why not","id":%d}'):format(id))
        assert.equal('{"jsonrpc":"2.0","result":"why not","id":1}', there.session:next())
        assert.equal(0, (self:wait_exit()))
      end)

      for _, how in ipairs { "close", "kill" } do
        it(("isn't held up by a client that goes by %s on %s"):format(how, place.name), function()
          local self = start()
          local there = session(self, place)
          there.session:send(request("cable.ask", nil, 1))
          there.session:next()
          self.observer:close()
          drain(self)
          local from = loop.now()
          there.connection[how](there.connection)
          assert.equal(0, (self:wait_exit()))
          assert.is_true(loop.now() - from < 5)
        end)
      end
    end

    it("has its deadline, whoever doesn't read on " .. place.name, function()
      local self = start(nil, nil, { "--drain", "0.5" })
      local connection = open(self, place, { reading = false })
      connection:send(wire[place.kind].wrap(request("cable.big", "[12000000]", 1)))
      loop.poll(function() return counters(self).held_bytes > 0 end, nil, "output to be held")
      self.observer:close()
      local from = loop.now()
      self:kill("sigterm")
      self:wait_exit()
      assert.is_true(loop.now() - from < 5)
    end)
  end
end)

describe("the other end of stdio", function()
  local CLOSES = {
    { name = "closes both pipes", cut = function(self) self.stdin:close() self.stdout:close() end },
    { name = "closes its sending", cut = function(self) self.stdin:close() end },
    { name = "reads no more, then closes", cut = function(self)
      self.stdout:read_stop()
      self.stdin:close()
    end },
  }

  for _, how in ipairs(CLOSES) do
    it(how.name .. " at any step; sockets go on", function()
      for _, step in ipairs(STEPS) do
        local path = "unix:" .. support.files.temp() .. "/observer.sock"
        local self = support.serve(SERVICE, { dev = true, stdin = true, listen = { "stdio:", path },
          config = "{ limits = { half_closed = 0.3 } }" })
        local connection = conn.stdio(self, { reading = not step.deaf })
        self.observer = client.open(self.urls[#self.urls])
        assert.equal(7, self.observer:result("cable.echo", "[7]"))
        step.run(self, connection, wire.line.wrap, wire.line.read)
        how.cut(self)
        assert.equal(7, self.observer:result("cable.echo", "[7]"), step.name)
        local ok, err = pcall(loop.poll, function()
          local begun, ended = counts(self)
          local now = counters(self)
          return begun == ended and now.open == 1 and now.in_flight == 1 and now.pending == 0
        end, nil, function() return cjson.encode(counters(self)) .. self.err end)
        assert(ok, step.name .. ": " .. tostring(err))
        self.observer:close()
        assert.equal(0, self:stop(), step.name)
        connection:close()
      end
    end)
  end

  it("goes away at any step; a program with nothing else ends", function()
    for _, step in ipairs(STEPS) do
      if not step.deaf then
        local self = support.serve(SERVICE, { stdin = true, listen = { "stdio:" },
          config = "{ limits = { half_closed = 0.3 } }" })
        local connection = conn.stdio(self)
        if step.both_ways then
          step.run(self, connection, wire.line.wrap, wire.line.read)
        else
          connection:send(wire.line.wrap(request("cable.doze", nil, 1))):flush()
        end
        connection:close()
        assert.is_not_nil(self:wait_exit(), step.name)
      end
    end
  end)
end)

describe("a reload", function()
  local SLOW = "rpc.sleep(0.8) return function() return %d end"

  for _, place in ipairs(PLACES) do
    it("goes through, and leaves nothing, when its callers die on " .. place.name, function()
      local self = start()
      self.observer:result("rpc.reload") -- its own file descriptors
      local doze, ask = open(self, place), open(self, place)
      local wrap, read = wire[place.kind].wrap, wire[place.kind].read
      doze:send(wrap(request("cable.doze", nil, 1)))
      if both_ways(place) then
        ask:send(wrap(request("cable.ask", nil, 1)))
        assert.equal("question", cjson.decode(read(ask)).method)
      end
      loop.poll(function() return (counts(self)) == (both_ways(place) and 2 or 1) end, nil, "calls")
      -- The file of the methods that wait is among those that are loaded anew.
      local path = self.dir .. "/cable.lua"
      local text = support.files.read(path)
      support.files.write(self.dir .. "/slow.lua", SLOW:format(1))
      support.files.write(path, (text:gsub("s.begun, s.ended, s.gone = 0, 0, 0", "")))
      local observer = client.open(self.urls[#self.urls])
      observer.session:send(request("rpc.reload", nil, 99))
      loop.poll(function() return self.observer:result("rpc.status").loading end, nil, "a load")
      doze:kill()
      ask:close()
      assert.is_true(cjson.decode(observer.session:next()).result.ok)
      assert.equal(1, self.observer:result("slow"))
      observer:close()
      is_as_before(self)
    end)
  end
end)

describe("moonrpc call", function()
  local URLS = {
    "tcp://127.0.0.1:0", "tcp://127.0.0.1:0?framing=header", "unix:DIR/s", "http://127.0.0.1:0",
    "http+unix:DIR/h",
  }

  for _, url in ipairs(URLS) do
    local function begin()
      local self = support.serve(SERVICE, { dev = true,
        listen = { (url:gsub("DIR", support.files.temp())), "tcp://127.0.0.1:0" } })
      self.observer = client.open(self.urls[2])
      local full = self.urls[1] .. (url:match("%?.*") or "")
      if self.urls[1]:find("?", 1, true) then full = self.urls[1] end
      local call = support.program.start({ "call", full, "cable.doze" })
      loop.poll(function() return (counts(self)) == 1 end, nil, "the call")
      return self, call
    end

    it("ends when its server is killed: " .. url, function()
      local self, call = begin()
      self:kill("sigkill")
      assert.equal(3, (call:wait_exit()))
      assert.matches("%S", call.err)
    end)

    it("has its timeout when its server stands still: " .. url, function()
      local dir = support.files.temp()
      local self = support.serve(SERVICE, { listen = { (url:gsub("DIR", dir)) } })
      self:kill("sigstop")
      local call = support.program.start { "call", "--timeout", "0.5", self.urls[1], "cable.doze" }
      assert.equal(3, (call:wait_exit(5)))
      self:kill("sigcont")
      assert.equal(0, self:stop())
    end)

    it("that is killed has its handler cancelled: " .. url, function()
      local self, call = begin()
      call:kill("sigkill")
      loop.poll(function() return select(2, counts(self)) == 1 end, 14, "the handler to end")
    end)
  end
end)

describe("a host whose server", function()
  local FRONT = { ["init.lua"] = [[
    local s = rpc.state("front")
    s.begun, s.ended = 0, 0
    local function guard()
      s.begun = s.begun + 1
      return setmetatable({}, { __close = function() s.ended = s.ended + 1 end })
    end
    local c = rpc.connect(os.getenv "URL", { backoff_max = 0.2 })
    local M = {}
    function M.call(method, params, timeout)
      local _ <close> = guard()
      return c:call(method, params, { timeout = timeout or 100 })
    end
    function M.again(method, params)
      local _ <close> = guard()
      return c:call(method, params, { idempotent = true, timeout = 10 })
    end
    function M.question(_)
      local _ <close> = guard()
      rpc.sleep(100)
    end
    function M.counts() return { s.begun, s.ended } end
    return M]] }

  -- Servers by their address; `client`: how clients name it.
  local SERVERS = {
    { url = "tcp://127.0.0.1:0" },
    { url = "unix:DIR/s" },
    { url = "http://127.0.0.1:0", one_way = true },
    { url = "http+unix:DIR/h", one_way = true },
    { url = "http://127.0.0.1:0", from = "^http", to = "ws" },
    { url = "http+unix:DIR/w", from = "^http", to = "ws" },
  }

  local function begin(kind)
    local self = { dir = support.files.temp() }
    function self.serve(url)
      self.server = support.serve(SERVICE, { dev = true, listen = { url,
        "unix:" .. self.dir .. "/watcher" } })
      self.watcher = client.open(self.server.urls[2])
      self.observer = self.watcher -- for counts
    end
    self.serve((kind.url:gsub("DIR", self.dir)))
    self.url = self.server.urls[1]
    local url = kind.from and self.url:gsub(kind.from, kind.to) or self.url
    self.front = support.serve(FRONT, { dev = true, env = { URL = url },
      config = ("{ limits = { half_closed = %g } }"):format(HALF_CLOSED),
      listen = { "unix:" .. self.dir .. "/front" } })
    self.there = client.open(self.front.urls[1])
    assert.equal(7, self.there:result("again", '["cable.echo",[7]]'))
    self.files = self.front:descriptors()
    return self
  end

  local function later(self, method, params)
    local there = client.open(self.front.urls[1])
    there.session:send(request(method, params, 1))
    return function()
      local answer = cjson.decode(there.session:next())
      there:close()
      return answer
    end
  end

  -- Nothing is left in the front once its server is there again.
  local function is_whole(self)
    assert.equal(7, self.there:result("again", '["cable.echo",[7]]'))
    loop.poll(function()
      local counted = self.there:result("counts")
      local now = self.there:result("rpc.status").counters
      return counted[1] == counted[2] and now.in_flight == 1 and now.pending == 0
        and self.front:descriptors() == self.files
    end, nil, function()
      return ("the front to be as before: %s, %d of %d descriptors, %s\n%s"):format(
        cjson.encode(self.there:result("counts")), self.front:descriptors(), self.files,
        cjson.encode(self.there:result("rpc.status").counters), self.front.err)
    end)
  end

  local function kill(self)
    self.watcher:close()
    self.server:kill("sigkill")
    self.server:wait_exit()
  end

  for _, kind in ipairs(SERVERS) do
    local name = kind.url:gsub(kind.from or "^$", kind.to or "")

    it("is killed ends the calls to it, and comes back: " .. name, function()
      local self = begin(kind)
      -- While nothing is said.
      kill(self)
      self.serve(self.url)
      is_whole(self)
      -- While calls to it wait.
      local waits = {}
      for i = 1, 5 do waits[i] = later(self, "call", '["cable.doze"]') end
      loop.poll(function() return (counts(self)) == 5 end, nil, "the calls to begin")
      kill(self)
      for i = 1, 5 do assert.equal(-32057, waits[i]().error.code) end
      self.serve(self.url)
      is_whole(self)
      -- While its calls wait for calls of ours that wait for it.
      if not kind.one_way then
        local wait = later(self, "call", '["cable.ask"]')
        loop.poll(function() return counters(self).pending == 1 end, nil, "its call")
        kill(self)
        assert.equal(-32057, wait().error.code)
        self.serve(self.url)
        is_whole(self)
      end
      -- While a large answer is on its way.
      local wait = later(self, "call", '["cable.big",[12000000]]')
      loop.poll(function() return (counts(self)) == 1 end, nil, "the call to begin")
      kill(self)
      local answer = wait()
      assert.is_true(answer.result and #answer.result == 12000000 or answer.error.code == -32057)
      self.serve(self.url)
      is_whole(self)
    end)

    it("stands still is waited for as long as is said: " .. name, function()
      local self = begin(kind)
      self.server:kill("sigstop")
      for i = 1, 3 do
        local answer = self.there:call("call", ('["cable.echo",[%d],0.2]'):format(i))
        assert.equal(-32051, answer.error.code)
      end
      local wait = later(self, "call", '["cable.echo",["at last"],20]')
      self.server:kill("sigcont")
      assert.equal("at last", wait().result)
      is_whole(self)
      -- What was given up over HTTP may have left its connection to be closed.
      assert.equal(7, self.there:result("call", '["cable.echo",[7]]'))
    end)

    it("drains is left, and found again: " .. name, function()
      local self = begin(kind)
      self.watcher:close()
      assert.equal(0, self.server:stop())
      self.serve(self.url)
      is_whole(self)
    end)
  end
end)

describe("cables pulled at random", function()
  local ROUNDS = tonumber(os.getenv("MOONRPC_CABLES")) or 400

  -- Begins something on a connection, without waiting for it.
  local BEGIN = {
    function(_, wrap) return wrap(request("cable.doze", nil, 1)) end,
    function(place, wrap) return both_ways(place) and wrap(request("cable.ask", nil, '"a"')) end,
    function(_, wrap) return wrap(request("cable.big", "[3000000]", 2)) end,
    function(place, wrap) return both_ways(place) and wrap(request("news.subscribe", nil, 3)) end,
    function(_, wrap) return wrap(request("cable.echo", "[7]")) end,
    function(_, wrap) return (wrap(request("cable.doze", nil, 4)):sub(1, 20)) end,
    function(place, wrap)
      return both_ways(place) and wrap('{"jsonrpc":"2.0","result":1,"id":1}')
    end,
    function(_, wrap)
      return wrap('{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}')
    end,
    function(_, wrap)
      return wrap("[" .. request("cable.doze", nil, 5) .. "," .. request("cable.echo", "[1]", 6)
        .. "]")
    end,
  }

  it("leave nothing behind", function()
    math.randomseed(os.time())
    local self = start("output = 100000, in_flight = 8")
    local open_now, most = {}, 0
    for round = 1, ROUNDS do
      local at = math.random(16)
      local one = open_now[at]
      if not one then
        local place = PLACES[math.random(#PLACES)]
        open_now[at] = { place = place,
          connection = open(self, place, { reading = math.random(3) > 1 }) }
      elseif math.random(3) == 1 then
        local how = CUTS[math.random(#CUTS)]
        if how.tcp and one.place.url:find("unix", 1, true) then how = CUTS[1] end
        how.cut(one.connection)
        if how.stays then one.connection:close() end
        open_now[at] = nil
      else
        local bytes = BEGIN[math.random(#BEGIN)](one.place, wire[one.place.kind].wrap)
        if bytes then one.connection:send(bytes) end
        one.connection.data = ""
      end
      if round % 10 == 0 then
        assert.is_number(self.observer:result("news.publish", "[2000,1,5]"))
      end
      if round % 100 == 0 and round >= ROUNDS // 2 then
        most = most > 0 and most or self:memory()
      end
    end
    for _, one in pairs(open_now) do one.connection:close() end
    is_as_before(self)
    assert.equal(0, self.observer:result("news.count"))
    if not support.program.is_sanitized then
      assert.is_true(self:memory() < most + 8e6, self:memory() - most .. " bytes more")
    end
    self.observer:close()
    assert.equal(0, self:stop())
  end)
end)
