-- Pulling cables: whoever dies, hangs or goes half, at whatever step of a
-- conversation, takes nobody with it and leaves nothing behind.
local cjson = require "cjson"
local support = require "support"
local cables = require "support.cables"
local client, loop, wire = support.client, support.loop, support.wire
local PLACES, STEPS, CUTS, start = cables.PLACES, cables.STEPS, cables.CUTS, cables.start
local open, counts, is_as_before = cables.open, cables.counts, cables.is_as_before
local both_ways = cables.both_ways
local request = client.request

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
