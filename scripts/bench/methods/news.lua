-- A topic that those who joined read: notifications of 200 bytes each.
local before = '{"jsonrpc":"2.0","method":"news","params":[1000000,"'
local text = ("x"):rep(200 - #before - #'"]}')

return {
  join = function()
    rpc.topic("news"):add(rpc.peer())
    return true
  end,
  publish = function(sequence)
    rpc.topic("news"):publish("news", { sequence, text })
  end,
}
