-- rpc.serial: calls that run one after another, as language servers need it.
local support = require "support"
local client = support.client

after_each(support.clean)

local WORK = [[
  rpc.serial()
  local M, n, document = {}, 0, ""
  function M.change(text) rpc.sleep(0.01) document = document .. text end
  function M.read() return document end
  function M.alone()
    n = n + 1
    local most = n
    rpc.sleep(0.001)
    n = n - 1
    return most
  end
  function M.hang() rpc.sleep(1000) end
  return M]]

local LISTEN = { "tcp://127.0.0.1:0?framing=line", "tcp://127.0.0.1:0?framing=line" }

describe("serial calls", function()
  local there, server

  before_each(function()
    server = support.serve({ ["init.lua"] = WORK,
      ["free.lua"] = "return function() return 'free' end" }, { listen = LISTEN })
    there = client.open(server.urls[1], "line")
  end)

  it("run in the order sent, notifications too", function()
    for _, text in ipairs { "a", "b", "c" } do
      there:notify("change", ('["%s"]'):format(text))
    end
    assert.equal("abc", there:result("read"))
  end)

  it("are never two at a time, in a batch either", function()
    local entries = {}
    for i = 1, 50 do entries[i] = client.request("alone", nil, i) end
    there.session:send("[" .. table.concat(entries, ",") .. "]")
    for result in there.session:next():gmatch('"result":(%d+)') do
      assert.equal("1", result)
    end
  end)

  it("don't keep other files and other peers waiting", function()
    there.session:send(client.request("hang", nil, 1))
    there.session:send(client.request("read", nil, 2))
    assert.equal("free", there:result("free"))
    assert.equal("", client.open(server.urls[1], "line"):result("read"))
  end)

  it("can be cancelled while they queue", function()
    there.session:send(client.request("hang", nil, 1))
    there.session:send(client.request("change", '["x"]', 2))
    there.session:send(client.request("read", nil, 3))
    there:notify("$/cancelRequest", '{"id":2}')
    assert.matches('"code":%-32800.*"id":2', (there.session:next()))
    there:notify("$/cancelRequest", '{"id":1}')
    assert.matches('"code":%-32800.*"id":1', (there.session:next()))
    assert.matches('"result":"","id":3', (there.session:next()))
  end)
end)
