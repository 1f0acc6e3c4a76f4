-- examples/ethereum: a chain that tells of its blocks. tests/clients has real
-- libraries do the same.
local cjson = require "cjson"
local support = require "support"
local client = support.client

local ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
local TOKEN = "0x5FbDB2315678afecb367f032d93F642f64180aa3"

describe("the chain", function()
  local server, node, wallet

  before_each(function()
    server = support.serve("examples/ethereum", {
      listen = { "http://127.0.0.1:0", "tcp://127.0.0.1:0" },
      env = { BLOCK_SECONDS = "3600" }, -- blocks come when they are asked for
    })
    node, wallet = client.open(server.urls[1]), client.open(server.urls[2])
  end)
  after_each(support.clean)

  -- The subscription and the number of the next block that a client is told of.
  local function told(who)
    local message = cjson.decode(who.session:next())
    assert.equal("eth_subscription", message.method)
    return { message.params.subscription, message.params.result.number }
  end

  it("has an id, blocks and balances", function()
    assert.equal("0x539", node:result("eth_chainId"))
    assert.equal("1337", node:result("net_version"))
    assert.equal("0x0", node:result("eth_blockNumber"))
    node:result("evm_mine")
    assert.equal("0x1", node:result("eth_blockNumber"))
    local head = node:result("eth_getBlockByNumber", '["latest",false]')
    assert.equal("0x1", head.number)
    assert.equal(head.parentHash, node:result("eth_getBlockByNumber", '["0x0",false]').hash)
    assert.equal(cjson.null, node:result("eth_getBlockByNumber", '["0x2",false]'))
    assert.equal("0x21e19e0c9bab2400000",
      node:result("eth_getBalance", ('["%s","latest"]'):format(ACCOUNT)))
    assert.equal("0x0", node:result("eth_getBalance", ('["%s","latest"]'):format(TOKEN)))
  end)

  it("runs a contract, which may refuse", function()
    local call = ('[{"to":"%s","data":"%%s"},"latest"]'):format(TOKEN)
    assert.equal(1000000, tonumber(node:result("eth_call", call:format("0x18160ddd"))))
    local failure = node:failure("eth_call", call:format("0xdeadbeef"))
    assert.equal(3, failure.code)
    assert.matches("^0x08c379a0", failure.data)
    assert.equal("0x", node:result("eth_call", '[{"data":"0x6001"},"latest"]'))
    assert.equal(3, node:failure("eth_call", ('[{"to":"%s"},"latest"]'):format(TOKEN)).code)
  end)

  it("tells each subscriber of each block", function()
    local other = client.open(server.urls[2])
    assert.equal("0x1", wallet:result("eth_subscribe", '["newHeads"]'))
    assert.equal("0x1", other:result("eth_subscribe", '["newHeads"]'))
    assert.equal("0x2", other:result("eth_subscribe", '["newHeads"]'))
    node:result("evm_mine")
    assert.same({ "0x1", "0x1" }, told(wallet))
    local both = { told(other), told(other) }
    table.sort(both, function(a, b) return a[1] < b[1] end)
    assert.same({ { "0x1", "0x1" }, { "0x2", "0x1" } }, both)

    assert.is_true(other:result("eth_unsubscribe", '["0x1"]'))
    assert.is_false(other:result("eth_unsubscribe", '["0x1"]'))
    assert.is_false(wallet:result("eth_unsubscribe", '["0x2"]'))
    node:result("evm_mine")
    assert.same({ "0x2", "0x2" }, told(other))
    assert.same({ "0x1", "0x2" }, told(wallet))
  end)

  it("goes on when a subscriber has gone", function()
    local other = client.open(server.urls[2])
    other:result("eth_subscribe", '["newHeads"]')
    wallet:result("eth_subscribe", '["newHeads"]')
    other.session.connection:reset()
    node:result("evm_mine")
    assert.same({ "0x1", "0x1" }, told(wallet))
  end)

  it("forgets subscriptions that nobody listens to", function()
    local tree = { ["ids.lua"] = [[return function()
      local ids = rpc.array {}
      for id in pairs(rpc.state "ids") do ids[#ids + 1] = id end
      return ids
    end]] }
    for _, name in ipairs { "init", "subscribe", "_lib/chain", "_lib/heads", "_lib/token" } do
      tree[name .. ".lua"] = support.files.read("examples/ethereum/" .. name .. ".lua")
    end
    local one = client.open(support.serve(tree, { listen = { "tcp://127.0.0.1:0" },
      env = { BLOCK_SECONDS = "3600" } }).urls[1])
    for i = 1, 5 do
      local id = one:result("eth_subscribe", '["newHeads"]')
      if i < 5 then one:result("eth_unsubscribe", ('["%s"]'):format(id)) end
    end
    one:notify("evm_mine")
    assert.same({ "0x5", "0x1" }, told(one))
    assert.same({ "0x5" }, one:result("ids"))
  end)

  it("refuses subscriptions where it can't tell of them", function()
    assert.equal(-32601, node:failure("eth_subscribe", '["newHeads"]').code)
    assert.equal(-32602, wallet:failure("eth_subscribe", '["logs"]').code)
  end)

  it("grows by itself", function()
    local growing = support.serve("examples/ethereum", {
      listen = { "tcp://127.0.0.1:0" }, env = { BLOCK_SECONDS = "0.01" },
    })
    local listener = client.open(growing.urls[1])
    listener:result("eth_subscribe", '["newHeads"]')
    local first, second = told(listener), told(listener)
    assert.equal(1, tonumber(second[2]) - tonumber(first[2]))
  end)
end)
