-- Pulling cables: a drain on every transport, whatever its clients do.
local cjson = require "cjson"
local support = require "support"
local cables = require "support.cables"
local conn, loop, wire = support.conn, support.loop, support.wire
local PLACES, start, open, counts = cables.PLACES, cables.start, cables.open, cables.counts
local counters, both_ways, session = cables.counters, cables.both_ways, cables.session
local request = support.client.request

after_each(support.clean)

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
