-- Waiting, the one place where time passes in a spec: runs the event loop until
-- something has happened, or fails when its deadline passes.
local uv = require "luv"

local loop = {}

-- Busted ends by os.exit(code, true), which closes the Lua state; luv sometimes
-- crashes there over handles that are still closing. The kernel does it better.
local exit = os.exit
os.exit = function(code) exit(code, false) end -- luacheck: ignore 122

-- A write to a closed connection is an error to look at, no reason to die.
local pipe_signal = uv.new_signal()
pipe_signal:start("sigpipe", function() end)
pipe_signal:unref()

-- How long a spec waits for what should happen at once. Long, since it costs
-- nothing when all is well; machines under sanitizers are slow.
loop.patience = tonumber(os.getenv("MOONRPC_PATIENCE")) or 15

-- Runs the loop until `ready()` is truthy and returns its value; raises after
-- `seconds`, naming `what` (a string, or a function that makes one).
---@param ready fun(): any
---@param seconds number?
---@param what string|fun(): string
function loop.wait(ready, seconds, what)
  local result = ready()
  if result then return result end
  seconds = seconds or loop.patience
  local late = false
  local timer = uv.new_timer()
  uv.update_time()
  timer:start(math.ceil(seconds * 1000), 0, function() late = true end)
  while not result and not late do
    uv.run("once")
    result = ready()
  end
  timer:close()
  if not result then
    if type(what) == "function" then what = what() end
    error(("waited %g s in vain for %s"):format(seconds, what), 2)
  end
  return result
end

-- The same for what tells nobody when it happens: looks every few ms.
---@param ready fun(): any
---@param seconds number?
---@param what string|fun(): string
function loop.poll(ready, seconds, what)
  local till = loop.now() + (seconds or loop.patience)
  while true do
    local result = ready()
    if result then return result end
    if loop.now() > till then break end
    loop.pass(0.005)
  end
  if type(what) == "function" then what = what() end
  error(("looked %g s in vain for %s"):format(seconds or loop.patience, what), 2)
end

-- Lets time pass, for what is defined by time itself: a peer that is slow on
-- purpose, a deadline that must not strike yet. Never to wait for an event.
---@param seconds number
function loop.pass(seconds)
  local over = false
  local timer = uv.new_timer()
  uv.update_time()
  timer:start(math.ceil(seconds * 1000), 0, function() over = true end)
  while not over do uv.run("once") end
  timer:close()
end

-- Seconds of a monotonic clock.
---@return number
function loop.now()
  return uv.hrtime() / 1e9
end

return loop
