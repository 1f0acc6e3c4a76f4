-- Notifications that HTTP has taken, and what the end of a connection does to
-- them and to others.
local support = require "support"
local conn, wire = support.conn, support.wire

describe("a notification", function()
  after_each(support.clean)

  -- `work` takes its time; what becomes of it is in the log.
  local FILES = { ["init.lua"] = [[
    return {
      work = function(seconds)
        local ok = pcall(rpc.sleep, seconds)
        rpc.log.info(ok and "done" or "given up")
      end,
    }
  ]] }

  local function note(seconds)
    return support.client.request("work", ("[%s]"):format(seconds))
  end

  local function taken(url, seconds)
    local connection = conn.open(url):send(wire.http.wrap(note(seconds)))
    assert.equal(204, wire.http.read(connection).status)
    return connection
  end

  local function serve(url, settings)
    return support.serve(FILES, { listen = { url }, config = settings })
  end

  describe("that HTTP has answered goes on", function()
    it("when its connection is reset", function()
      local self = serve("http://127.0.0.1:0")
      taken(self.urls[1], 0.3):reset()
      self:wait_log(" done ")
    end)

    it("when it is closed, for longer than answers have time", function()
      local self = serve("http://127.0.0.1:0", "{ limits = { half_closed = 0.1 } }")
      taken(self.urls[1], 0.3):close()
      self:wait_log(" done ")
    end)

    it("when it has ended its sending, and hears then that it is over", function()
      local self = serve("http://127.0.0.1:0", "{ limits = { half_closed = 0.1 } }")
      local connection = taken(self.urls[1], 5)
      connection:finish()
      connection:wait(function() return connection.eof end, 3, "the end")
      assert.is_nil(self.err:find(" done ", 1, true))
      assert.is_nil(self.err:find("given up", 1, true))
    end)

    -- A hang-up that nobody reads is seen at a look, every half second.
    it("when a Unix socket is hung up", function()
      local self = serve("http+unix:" .. support.files.temp() .. "/s")
      taken(self.urls[1], 0.8):close()
      self:wait_log(" done ")
    end)

    it("in its place in a queue", function()
      local self = support.serve({ ["init.lua"] = [[
        rpc.serial()
        return {
          work = function(seconds)
            rpc.sleep(seconds)
            rpc.log.info("done " .. seconds)
          end,
        }
      ]] }, { listen = { "http://127.0.0.1:0" } })
      local connection = taken(self.urls[1], 0.3)
      connection:send(wire.http.wrap(note(0.1)))
      assert.equal(204, wire.http.read(connection).status)
      connection:reset()
      self:wait_log(" done 0.3")
      self:wait_log(" done 0.1")
    end)

    it("before the program ends", function()
      local self = serve("http://127.0.0.1:0")
      taken(self.urls[1], 0.3):reset()
      assert.equal(0, self:stop())
      self:wait_log(" done ")
    end)

    it("until the deadline of the program's end", function()
      local self = support.serve(FILES, { args = { "--drain", "0.1" } })
      taken(self.urls[1], 30):reset()
      assert.equal(1, self:stop())
      assert.matches("calls_cut=1", self.err)
    end)
  end)

  it("of HTTP takes its connection's place among connections until it ends", function()
    local self = serve("http://127.0.0.1:0", "{ limits = { connections = 1 } }")
    taken(self.urls[1], 0.3):reset()
    local other = conn.open(self.urls[1])
    other:send(wire.http.wrap(nil, nil, "GET /healthz HTTP/1.1"))
    assert.equal(200, wire.http.read(other).status)
    assert.matches(" done ", self.err)
  end)

  it("of a conversation that has died is given up, as its calls are", function()
    local self = serve("tcp://127.0.0.1:0")
    local connection = conn.open(self.urls[1]):send(note(30) .. "\n")
    connection:send(support.client.request("rpc.none", "[]", 1) .. "\n"):line()
    connection:reset()
    self:wait_log(" given up ")
  end)
end)

describe("a request over HTTP", function()
  after_each(support.clean)

  it("is given up when its connection is reset", function()
    local self = support.serve { ["work.lua"] = [[
      return function()
        rpc.log.info("begun")
        local ok = pcall(rpc.sleep, 30)
        rpc.log.info(ok and "done" or "given up")
      end
    ]] }
    local connection = conn.open(self.urls[1]):send(
      wire.http.wrap(support.client.request("work", "[]", 1)))
    self:wait_log(" begun ")
    connection:reset()
    self:wait_log(" given up ")
  end)
end)
