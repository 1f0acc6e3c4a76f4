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
    function M.ask_shortly()
      local _ <close> = guard()
      return rpc.peer():call("question", { "why" }, { timeout = 0.1 })
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

  it("by a close of a Unix socket while the limit of calls stops the reading", function()
    local self = start("in_flight = 2")
    local there = starts(self, self.urls[3], 2)
    there:kill()
    is_as_before(self)
  end)
end)
