-- rpc.on: what runs when peers come and go, when code is swapped, and at the end.
local support = require "support"
local client = support.client

after_each(support.clean)

local HOOKS = [[
  rpc.on("connect", function(peer)
    peer.data.name = "peer" .. peer.id
    rpc.log.info("came", { peer = peer.id, transport = peer.transport })
  end)
  rpc.on("disconnect", function(peer)
    rpc.log.info("went", { peer = peer.data.name, closed = peer:closed() })
  end)
  rpc.on("reload", function() rpc.log.info("swapped %d") end)
  rpc.on("shutdown", function()
    rpc.log.info("ending")
    rpc.sleep(0.2)
    rpc.log.info("ended")
  end)
  return { name = function() return rpc.peer().data.name end }]]

local function serve(listen)
  return support.serve({ ["init.lua"] = HOOKS:format(1) }, { listen = listen })
end

describe("connect and disconnect", function()
  it("run around a conversation", function()
    local server = serve { "tcp://127.0.0.1:0" }
    local there = client.open(server.urls[1])
    local name = there:result("name")
    assert.matches("^peer%d+$", name)
    server:wait_log("came.*transport=tcp")
    assert.is_nil(server.err:find("went"))
    there:close()
    assert.matches("peer=" .. name, (server:wait_log("went.*closed=true")))
  end)

  it("run for one who never says anything", function()
    local server = serve { "tcp://127.0.0.1:0?framing=line" }
    local connection = support.conn.open(server.urls[1])
    server:wait_log("came")
    connection:reset()
    server:wait_log("went")
  end)

  it("don't run for HTTP", function()
    local server = serve { "http://127.0.0.1:0", "tcp://127.0.0.1:0" }
    client.open(server.urls[1]):failure("name", "[1]")
    client.open(server.urls[2]):result("name")
    server:wait_log("came.*transport=tcp")
    assert.is_nil(server.err:find("transport=http"))
  end)

  it("run for a WebSocket, by that name", function()
    local server = serve { "http://127.0.0.1:0" }
    local there = client.open(server.urls[1], "ws")
    assert.matches("^peer%d+$", there:result("name"))
    server:wait_log("came.*transport=ws")
    there:close()
    server:wait_log("went.*closed=true")
  end)

  it("may turn a peer away", function()
    local server = support.serve({ ["init.lua"] = [[
      rpc.on("connect", function(peer) peer:close("full") end)
      return { one = function() rpc.log.info("was called") return 1 end }]] },
      { listen = { "tcp://127.0.0.1:0?framing=line", "http://127.0.0.1:0" } })
    local connection = support.conn.open(server.urls[1])
    connection:send(client.request("one", nil, 1) .. "\n")
    assert.equal("", connection:rest())
    local ws = support.wire.ws.open(support.conn.open(server.urls[2]))
    local code, reason = support.wire.ws.read_close(ws)
    assert.equal(1000, code)
    assert.equal("full", reason)
    assert.equal(1, client.open(server.urls[2]):result("one"))
    local _, count = server.err:gsub("was called", "")
    assert.equal(1, count)
  end)

  it("may go on as long as the peer is there", function()
    local server = support.serve({ ["init.lua"] = [[
      rpc.on("connect", function(peer)
        while not peer:closed() do
          peer:notify("tick")
          rpc.sleep(0.01)
        end
        rpc.log.info("no more ticks")
      end)]] }, { listen = { "tcp://127.0.0.1:0?framing=line" } })
    local connection = support.conn.open(server.urls[1])
    for _ = 1, 3 do assert.matches('"tick"', connection:line()) end
    server:kill()
    assert.equal(0, server:wait_exit())
    assert.is_nil(server.err:find("deadline"))
  end)

  it("do no harm when they fail", function()
    local server = support.serve({ ["init.lua"] = [[
      rpc.on("connect", function() error("at the door") end)
      return { one = function() return 1 end }]] }, { listen = { "tcp://127.0.0.1:0" } })
    assert.equal(1, client.open(server.urls[1]):result("one"))
    server:wait_log("event handler failed.*at the door")
  end)
end)

describe("reload", function()
  it("runs the new code's function", function()
    local server = serve { "tcp://127.0.0.1:0" }
    support.files.write(server.dir .. "/init.lua", HOOKS:format(2))
    server:kill("sighup")
    server:wait_log("swapped 2")
    assert.is_nil(server.err:find("swapped 1"))
  end)
end)

describe("shutdown", function()
  it("is waited for by a drain", function()
    local server = serve { "tcp://127.0.0.1:0" }
    client.open(server.urls[1]):result("name")
    server:kill("sigterm")
    assert.equal(0, server:wait_exit())
    assert.matches("ending.*ended", server.err)
    assert.matches("went", server.err)
  end)

  it("may say goodbye", function()
    local server = support.serve({ ["init.lua"] = [[
      local all = rpc.topic("all")
      rpc.on("connect", function(peer) all:add(peer) end)
      rpc.on("shutdown", function() all:publish("bye") end)]] },
      { listen = { "tcp://127.0.0.1:0?framing=line", "http://127.0.0.1:0" } })
    local line = support.conn.open(server.urls[1])
    local ws = support.wire.ws.open(support.conn.open(server.urls[2]))
    -- Both have connected when they have been answered.
    line:send(client.request("none", nil, 1) .. "\n"):line()
    ws:send(support.wire.ws.wrap(client.request("none", nil, 1)))
    support.wire.ws.read(ws)
    server:kill()
    assert.matches('"method":"bye"', line:line())
    assert.matches('"method":"bye"', support.wire.ws.read(ws))
    assert.equal(1001, (support.wire.ws.read_close(ws)))
  end)

  it("comes at the end of stdio too", function()
    local server = support.serve({ ["init.lua"] = HOOKS:format(1) },
      { listen = { "stdio:" }, stdin = true })
    local there = client.over(support.transports.stream(support.conn.stdio(server), "line"))
    assert.matches("^peer%d+$", there:result("name"))
    there.session.connection:finish()
    assert.equal(0, server:wait_exit())
    assert.matches("ended", server.err)
    assert.matches("went", server.err)
  end)

  it("has the time of the drain", function()
    local server = support.serve({ ["init.lua"] =
      [[rpc.on("shutdown", function() rpc.log.info("hanging") rpc.sleep(1000) end)]] },
      { listen = { "tcp://127.0.0.1:0" }, args = { "--drain", "0.2" } })
    server:kill("sigterm")
    server:wait_log("hanging")
    server:wait_exit()
    assert.matches("the drain has passed its deadline", server.err)
  end)
end)
