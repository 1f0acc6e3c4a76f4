-- eth_subscribe, eth_unsubscribe; the notifications between them come from
-- _lib/heads.lua. Their names don't follow this file's, so they are declared.
local heads = require "_lib.heads"

rpc.method("eth_subscribe", function(kind)
  local peer = rpc.peer()
  if kind ~= "newHeads" then rpc.error(-32602, "only newHeads can be subscribed to") end
  if peer.transport == "http" then rpc.error(-32601, "notifications not supported") end
  return heads.add(peer)
end)

rpc.method("eth_unsubscribe", function(id)
  return id ~= nil and heads.remove(rpc.peer(), id)
end)
