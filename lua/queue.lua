-- Queues of rpc.connect's: who waits stands in one as a place, whose __close
-- gives back what it holds when the wait ends in whatever way.
local rpc, dial = ...
local error, pcall, type = error, pcall, type

local M = {}

-- Errors. Their codes are the embedder's to choose.

-- A place that waits for a connection may be told why there is none.
local function raise_late(place)
  local outage = place.outage or {}
  dial.raise_late(outage.reason, outage.is_down)
end

local function has_code(err, code)
  return type(err) == "table" and err.code == code
end

function M.is_gone(err)
  local _, gone = dial.constants()
  return has_code(err, gone)
end

-- What pcall gave of a call: has the other side answered it?
function M.is_answer(ok, err)
  local timed_out, gone = dial.constants()
  return ok or (type(err) == "table" and err.code ~= timed_out and err.code ~= gone)
end

-- One that is left leaves a gap, never at the front.
function M.new()
  return { first = 1, last = 0, count = 0 }
end

-- The place doesn't wait any more, if it did.
function M.leave(place)
  local queue = place.queue
  if not queue then return end
  queue[place.at], place.queue = nil, nil
  queue.count = queue.count - 1
  while queue.first <= queue.last and not queue[queue.first] do queue.first = queue.first + 1 end
end

-- The first that waits; it holds what it waited for, `what`, from now on.
function M.let_one_go(queue, what)
  local place = queue[queue.first]
  if not place then return false end
  M.leave(place)
  place.holds = what or true
  place.resume()
  return true
end

-- Waits until it is let go, or raises. `on_stand`, which may be nil, is called
-- once it stands in the queue.
function M.wait_in(place, queue, deadline, on_stand)
  local left = deadline - rpc.now()
  if left <= 0 then raise_late(place) end
  local ok, err = pcall(rpc.await, function(resume)
    place.resume = resume
    queue.last = queue.last + 1
    place.queue, place.at = queue, queue.last
    queue[place.at], queue.count = place, queue.count + 1
    if on_stand then on_stand() end
  end, left)
  if ok then return end
  M.leave(place)
  if has_code(err, (dial.constants())) then raise_late(place) end
  error(err, 0)
end

return M
