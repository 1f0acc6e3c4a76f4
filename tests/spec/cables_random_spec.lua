-- Pulling cables at random.
local support = require "support"
local cables = require "support.cables"
local wire = support.wire
local PLACES, CUTS, start, open = cables.PLACES, cables.CUTS, cables.start, cables.open
local is_as_before, both_ways = cables.is_as_before, cables.both_ways
local request = support.client.request

after_each(support.clean)

describe("cables pulled at random", function()
  local ROUNDS = tonumber(os.getenv("MOONRPC_CABLES")) or 400

  -- What libc has freed goes back to the system, however much it once was.
  local KEEPS_LITTLE = { MALLOC_MMAP_THRESHOLD_ = "131072", MALLOC_TRIM_THRESHOLD_ = "131072" }

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

  local function pull(connection, how, place)
    if how.tcp and place.url:find("unix", 1, true) then how = CUTS[1] end
    how.cut(connection)
    if how.stays then connection:close() end
  end

  -- Opens, begins and pulls, and in the end closes what is still open. The
  -- program's memory then.
  local function play(self, rounds)
    local open_now = {}
    for round = 1, rounds do
      local at = math.random(16)
      local one = open_now[at]
      if not one then
        local place = PLACES[math.random(#PLACES)]
        open_now[at] = { place = place,
          connection = open(self, place, { reading = math.random(3) > 1 }) }
      elseif math.random(3) == 1 then
        pull(one.connection, CUTS[math.random(#CUTS)], one.place)
        open_now[at] = nil
      else
        local bytes = BEGIN[math.random(#BEGIN)](one.place, wire[one.place.kind].wrap)
        if bytes then one.connection:send(bytes) end
        one.connection.data = ""
      end
      if round % 10 == 0 then
        assert.is_number(self.observer:result("news.publish", "[2000,1,5]"))
      end
    end
    for _, one in pairs(open_now) do one.connection:close() end
    is_as_before(self)
    assert.equal(0, self.observer:result("news.count"))
    self.observer:result("cable.tidy")
    return self:memory()
  end

  local SEED = tonumber(os.getenv("MOONRPC_SEED")) or os.time()

  it("leave nothing behind (MOONRPC_SEED=" .. SEED .. ")", function()
    math.randomseed(SEED)
    local self = start("output = 100000, in_flight = 8", nil, nil, KEEPS_LITTLE)
    local first = play(self, ROUNDS // 2)
    local second = play(self, ROUNDS - ROUNDS // 2)
    if not support.program.is_sanitized then
      assert.is_true(second < first + 8e6, second - first .. " bytes more")
    end
    self.observer:close()
    assert.equal(0, self:stop())
  end)
end)
