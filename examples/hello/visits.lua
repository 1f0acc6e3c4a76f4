-- Shared state: rpc.state survives reloads, locals don't.
local visits = rpc.state("visits")

return function()
  visits.count = (visits.count or 0) + 1
  return visits.count
end
