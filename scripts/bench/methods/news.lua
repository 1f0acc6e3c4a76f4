-- A topic that those who joined read: notifications of 200 bytes each.
local topic = rpc.topic("news")
local before = '{"jsonrpc":"2.0","method":"news","params":[1000000,"'
local text = ("x"):rep(200 - #before - #'"]}')

return {
  join = function()
    topic:add(rpc.peer())
    return true
  end,
  publish = function(sequence)
    topic:publish("news", { sequence, text })
  end,
}
