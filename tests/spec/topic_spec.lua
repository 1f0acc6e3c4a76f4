-- rpc.topic: one message for many connections, some of which don't read.
local support = require "support"
local client = support.client

after_each(support.clean)

local NEWS = [[
  local topic = rpc.topic("news")
  return {
    follow = function() return topic:add(rpc.peer()) end,
    publish = function(size) return topic:publish("item", { text = ("x"):rep(size) }) end,
    burst = function(times, size)
      local least = math.huge
      for _ = 1, times do
        least = math.min(least, topic:publish("item", { text = ("x"):rep(size) }))
      end
      return least
    end,
    count = function() return topic:count() end,
  }]]

local LISTEN = { "http://127.0.0.1:0", "tcp://127.0.0.1:0", "unix:DIR/s" }

local function serve(config)
  local listen = {}
  for i, url in ipairs(LISTEN) do listen[i] = url:gsub("DIR", support.files.temp()) end
  return support.serve({ ["init.lua"] = NEWS }, { listen = listen, config = config })
end

describe("a topic", function()
  it("reaches peers on all transports", function()
    local server = serve()
    local all = { client.open(server.urls[1], "ws"), client.open(server.urls[2], "line"),
      client.open(server.urls[2], "header"), client.open(server.urls[3], "line") }
    for _, there in ipairs(all) do assert.is_true(there:result("follow")) end
    local speaker = client.open(server.urls[1])
    assert.equal(4, speaker:result("publish", "[3]"))
    for _, there in ipairs(all) do
      assert.equal('{"jsonrpc":"2.0","method":"item","params":{"text":"xxx"}}',
        there.session:next())
    end
    all[2]:close()
    support.loop.wait(function() return speaker:result("count") == 3 end)
    assert.equal(3, speaker:result("publish", "[3]"))
  end)

  it("refuses callers on HTTP", function()
    local server = serve()
    assert.equal(-32603, client.open(server.urls[1]):failure("follow").code)
    server:wait_log("http can't carry")
  end)

  it("drops who doesn't read, while others notice nothing", function()
    local server = serve "{ limits = { output = 65536 } }"
    local reader, sleeper = client.open(server.urls[2], "line"), client.open(server.urls[2], "line")
    local speaker = client.open(server.urls[1])
    reader:result("follow")
    sleeper:result("follow")
    sleeper.session.connection:pause()
    local sent = 0
    repeat
      local n = speaker:result("publish", "[60000]")
      sent = sent + 1
      assert.matches('^{"jsonrpc":"2.0","method":"item"', (reader.session:next()))
    until n == 1 or sent == 1000
    assert.is_true(sent < 1000, "nobody was dropped")
    server:wait_log("subscriber dropped: it doesn't read")
    assert.equal(1, speaker:result("count"))
    assert.equal(1, reader:result("count"))
    local _, count = server.err:gsub("subscriber dropped", "")
    assert.equal(1, count)
  end)

  it("keeps who reads, however much is said at once", function()
    local server = serve "{ limits = { output = 65536 } }"
    local all = { client.open(server.urls[1], "ws"), client.open(server.urls[2], "line"),
      client.open(server.urls[3], "line") }
    for _, there in ipairs(all) do there:result("follow") end
    local speaker = client.open(server.urls[1])
    assert.equal(#all, speaker:result("burst", "[9, 15000]"))
    for _, there in ipairs(all) do
      for _ = 1, 9 do
        assert.matches('^{"jsonrpc":"2.0","method":"item"', (there.session:next()))
      end
    end
    assert.equal(#all, speaker:result("count"))
  end)

  for i, framing in ipairs { "ws", "line", "line" } do
    it("keeps who reads and publishes much himself: " .. LISTEN[i], function()
      local server = serve "{ limits = { output = 65536 } }"
      local there = client.open(server.urls[i], framing)
      assert.is_true(there:result("follow"))
      there.session:send(client.request("burst", "[9, 15000]", 1))
      for _ = 1, 9 do
        assert.matches('^{"jsonrpc":"2.0","method":"item"', (there.session:next()))
      end
      assert.equal('{"jsonrpc":"2.0","result":1,"id":1}', there.session:next())
    end)
  end
end)
