-- Pulling cables: the other end of stdio goes.
local cjson = require "cjson"
local support = require "support"
local cables = require "support.cables"
local client, conn, loop, wire = support.client, support.conn, support.loop, support.wire
local SERVICE, STEPS, counts = cables.SERVICE, cables.STEPS, cables.counts
local counters = cables.counters
local request = client.request

after_each(support.clean)

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
