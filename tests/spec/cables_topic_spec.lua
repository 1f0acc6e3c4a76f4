-- Pulling cables: subscribers that don't read, or go.
local cjson = require "cjson"
local support = require "support"
local cables = require "support.cables"
local loop = support.loop
local PLACES, start, counts = cables.PLACES, cables.start, cables.counts
local counters, is_as_before = cables.counters, cables.is_as_before
local both_ways, session = cables.both_ways, cables.session

after_each(support.clean)

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
