-- Who listens to new blocks.
--
-- The ids of a connection's subscriptions count from 0x1. So the first ones of
-- all connections share an id and form one topic, the second ones another: a
-- block is encoded once for each topic, however many connections listen.
local heads = {}

local ids = rpc.state("ids") -- that somebody may listen to

local function topic(id) return rpc.topic("newHeads " .. id) end

function heads.add(peer)
  local data = peer.data
  data.live, data.count = data.live or {}, (data.count or 0) + 1
  local id = ("0x%x"):format(data.count)
  ids[id], data.live[id] = true, true
  topic(id):add(peer)
  return id
end

-- Was there such a subscription of this connection?
function heads.remove(peer, id)
  local live = peer.data.live
  if not live or not live[id] then return false end
  live[id] = nil
  topic(id):remove(peer)
  return true
end

function heads.publish(head)
  for id in pairs(ids) do
    local count = topic(id):publish("eth_subscription", { subscription = id, result = head })
    if count == 0 then ids[id] = nil end
  end
end

return heads
