-- Pulling cables: answers that come late, twice, to others, or just in time.
local cjson = require "cjson"
local support = require "support"
local cables = require "support.cables"
local loop, wire = support.loop, support.wire
local PLACES, start, open = cables.PLACES, cables.start, cables.open
local counters, is_as_before = cables.counters, cables.is_as_before
local both_ways, session = cables.both_ways, cables.session
local request = support.client.request

after_each(support.clean)

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
