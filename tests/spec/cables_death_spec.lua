-- Pulling cables: a death is noticed soon, whoever looks at it.
local support = require "support"
local cables = require "support.cables"
local client, conn, loop, wire = support.client, support.conn, support.loop, support.wire
local SERVICE, start, counts = cables.SERVICE, cables.start, cables.counts
local counters, is_as_before = cables.counters, cables.is_as_before
local request = client.request

after_each(support.clean)

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
