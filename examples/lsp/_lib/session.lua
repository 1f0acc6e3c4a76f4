-- Methods that are there between `initialize` and `shutdown`. What they know of
-- an editor lives as long as its connection: rpc.peer().data.
local session = {}

---@param name string
---@param fn fun(params: table, session: table): any
function session.method(name, fn)
  rpc.method(name, function(params)
    local self = rpc.peer().data
    if not self.state then rpc.error(-32002, "initialize comes first") end
    if self.state == "down" then rpc.error(-32600, "after shutdown") end
    return fn(params, self)
  end)
end

return session
