-- Queues of rpc.connect's: who waits stands in one as a place, whose __close
-- gives back what it holds when the wait ends in whatever way.
local rpc, dial = ...
local error, pcall, type = error, pcall, type

local M = {}

-- Errors. Their codes are the embedder's to choose.

function M.raise_gone(reason)
  local _, gone = dial.constants()
  local text = "The peer went away"
  if reason and reason ~= "" then text = text .. ": " .. reason end
  rpc.error(gone, text)
end

local function raise_late(place)
  local timed_out = dial.constants()
  local reason = place.why and place.why()
  rpc.error(timed_out, reason and "Timed out: " .. reason or "Timed out")
end

local function has_code(err, code)
  return type(err) == "table" and err.code == code
end

function M.is_gone(err)
  local _, gone = dial.constants()
  return has_code(err, gone)
end

function M.new()
  return { first = 1, last = 0 }
end

-- The first that still waits; it holds what it waited for, `what`, from now on.
function M.let_one_go(queue, what)
  while queue.first <= queue.last do
    local place = queue[queue.first]
    queue[queue.first] = nil
    queue.first = queue.first + 1
    if not place.has_left then
      place.holds = what or true
      place.resume()
      return true
    end
  end
  return false
end

-- How many still wait, counted up to `most`.
function M.count(queue, most)
  local count = 0
  for i = queue.first, queue.last do
    if count >= most then break end
    if not queue[i].has_left then count = count + 1 end
  end
  return count
end

-- Waits until it is let go, or raises. `on_stand`, which may be nil, is called
-- once it stands in the queue.
function M.wait_in(place, queue, deadline, on_stand)
  local left = deadline - rpc.now()
  if left <= 0 then raise_late(place) end
  local ok, err = pcall(rpc.await, function(resume)
    place.resume = resume
    queue.last = queue.last + 1
    queue[queue.last] = place
    if on_stand then on_stand() end
  end, left)
  if ok then return end
  place.has_left = true
  while queue.first <= queue.last and queue[queue.first].has_left do
    queue[queue.first] = nil
    queue.first = queue.first + 1
  end
  if has_code(err, (dial.constants())) then raise_late(place) end
  error(err, 0)
end

return M
