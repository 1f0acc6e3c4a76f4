-- Connections that are cut: what specs of the family cables stand on. A service
-- that knows what it is at, the places where it is reached, the steps of a
-- conversation, and the ways to end it.
local assert = require "luassert"
local cjson = require "cjson"
local support = require "support"
local client, conn, loop, wire = support.client, support.conn, support.loop, support.wire
local request = client.request

local cables = {}

-- Methods that know how many of them have begun and how many have ended.
cables.SERVICE = {
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
    function M.tidy() collectgarbage() collectgarbage() end
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
cables.PLACES = {
  { name = "tcp, line", url = "tcp://127.0.0.1:0", kind = "line" },
  { name = "tcp, header", url = "tcp://127.0.0.1:0", kind = "header" },
  { name = "unix", url = "unix:DIR/line.sock", kind = "line" },
  { name = "http", url = "http://127.0.0.1:0", kind = "http" },
  { name = "http+unix", url = "http+unix:DIR/http.sock", kind = "http" },
  { name = "ws", url = "http://127.0.0.1:0", kind = "ws" },
  { name = "ws+unix", url = "http+unix:DIR/ws.sock", kind = "ws" },
}

cables.HALF_CLOSED = 0.3

function cables.start(limits, half_closed, more, env)
  local dir = support.files.temp()
  local listen = {}
  for i, place in ipairs(cables.PLACES) do listen[i] = place.url:gsub("DIR", dir) end
  listen[#listen + 1] = "unix:" .. dir .. "/observer.sock"
  local self = support.serve(cables.SERVICE, { dev = true, listen = listen, args = more, env = env,
    config = ("{ limits = { half_closed = %g, %s } }"):format(half_closed or cables.HALF_CLOSED,
      limits or "") })
  self.observer = client.open(self.urls[#self.urls])
  self.observer:result("cable.counts")
  self.before = self:descriptors()
  return self
end

function cables.open(self, place, options)
  for i, other in ipairs(cables.PLACES) do
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

function cables.counts(self)
  return table.unpack(self.observer:result("cable.counts"))
end

function cables.counters(self)
  return self.observer:result("rpc.status").counters
end

-- Waits until it is as if nothing had ever been, but for the observer.
function cables.is_as_before(self)
  local begun, ended, now, files
  loop.poll(function()
    begun, ended = cables.counts(self)
    now, files = cables.counters(self), self:descriptors()
    if begun == ended and now.open == 1 and now.in_flight == 1 and now.pending == 0
      and now.held_bytes == 0 and files == self.before then return true end
  end, nil, function()
    return ("all to be as before: %s begun, %s ended, %s of %s descriptors, %s\n%s"):format(
      begun, ended, files, self.before, cjson.encode(now), self.err:sub(-2000))
  end)
end

-- Steps of a conversation: each leaves the connection in the midst of something.
cables.STEPS = {
  { name = "before anything is said", run = function() end },
  { name = "before its request is whole", run = function(_, connection, wrap)
    local bytes = wrap(request("cable.doze", nil, 1))
    connection:send(bytes:sub(1, #bytes // 2)):flush()
  end },
  { name = "right behind its request", run = function(_, connection, wrap)
    connection:send(wrap(request("cable.doze", nil, 1))):flush()
  end },
  { name = "while its handler waits", run = function(self, connection, wrap)
    local before = cables.counts(self)
    connection:send(wrap(request("cable.doze", nil, 1)))
    loop.poll(function() return (cables.counts(self)) > before end, nil, "a handler to begin")
  end },
  { name = "while a batch of its calls waits", run = function(self, connection, wrap)
    local before = cables.counts(self)
    local calls = {}
    for i = 1, 20 do calls[i] = request("cable.doze", nil, i) end
    connection:send(wrap("[" .. table.concat(calls, ",") .. "]"))
    loop.poll(function() return (cables.counts(self)) == before + 20 end, nil, "handlers to begin")
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
      loop.poll(function() return cables.counters(self).held_bytes > 0 end, nil, "held output")
    end },
  { name = "with many requests behind an answer that it doesn't read", deaf = true,
    run = function(self, connection, wrap)
      connection:send(wrap(request("cable.big", "[12000000]", 1)))
      loop.poll(function() return cables.counters(self).held_bytes > 0 end, nil, "held output")
      for i = 1, 100 do connection:send(wrap(request("cable.doze", nil, i + 1))) end
    end },
}

-- Ways to end a connection. `tcp`: only there.
cables.CUTS = {
  { name = "closes", cut = function(connection) connection:close() end },
  { name = "is killed", cut = function(connection) connection:kill() end },
  { name = "resets", tcp = true, cut = function(connection) connection:reset() end },
  { name = "ends its sending, reads no more,", cut = function(connection)
    connection:pause()
    connection:finish()
  end, stays = true },
}

-- A line, WebSocket or other session of a place that can be called.
function cables.both_ways(place)
  return place.kind ~= "http"
end

function cables.session(self, place, options)
  local connection = cables.open(self, place, options)
  local there = client.over(support.transports.stream(connection, place.kind))
  there.connection = connection
  return there
end

return cables
