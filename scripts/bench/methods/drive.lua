-- Calls the caller, many calls at a time, until it says stop; then tells how
-- many of its answers were right.
local going = false

local function call_on_and_on(peer, run)
  while going do
    local number = run.number
    run.number = number + 1
    assert(peer:call("subtract", { number, 23 }) == number - 23)
    run.right = run.right + 1
  end
end

return {
  start = function(in_flight)
    local peer, run, tasks = rpc.peer(), { number = 0, right = 0 }, {}
    going = true
    for i = 1, in_flight do tasks[i] = rpc.spawn(call_on_and_on, peer, run) end
    for i = 1, in_flight do tasks[i]:wait() end
    return run.right
  end,
  stop = function()
    going = false
  end,
}
