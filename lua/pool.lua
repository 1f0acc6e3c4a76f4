-- The connections of an HTTP client: each carries one call at a time, so that
-- a slow one delays no other and one that is given up takes only its own
-- connection along. They are opened when calls wait, up to a limit; the one
-- that was used last is used first, and those that nobody needs end by time,
-- before their server ends them.
--
--   call -> idle link, or place in the line -> answered: the link goes to the
--   first in the line, or is idle; given up: the link is closed
local rpc, dial, queue, link_of = ...
local math, pairs, pcall, setmetatable = math, pairs, pcall, setmetatable
local table = table

local M = {}

-- One link less, whoever hears of it first.
local function forget(state, link)
  if not state.links[link] then return end
  state.links[link] = nil
  state.count = state.count - 1
  for i, idle in pairs(state.idle) do
    if idle == link then return table.remove(state.idle, i) end
  end
end

-- What a connection's end means is said by the call that it carried; an idle
-- one is missed by nobody.
local function on_end(state, link)
  forget(state, link)
end

local function close(state, link)
  forget(state, link)
  link.raw:close()
end

-- Idle links: the longest idle stands first.

-- Closes those whose time is over; seconds until the next, nil: there is none.
local function close_idle(state)
  while state.idle[1] do
    local left = state.idle[1].idle_since + state.options.idle_time - rpc.now()
    if left > 0 then return left end
    close(state, state.idle[1])
  end
  return nil
end

-- Ends them by time. Only the weak reference is held while it sleeps.
local function reap(ref)
  local reaping <close> = setmetatable({}, { __close = function() -- luacheck: ignore 211
    if ref[1] then ref[1].is_reaped = false end
  end })
  local seconds = ref[1] and ref[1].options.idle_time
  while seconds do
    rpc.sleep(seconds)
    seconds = ref[1] and close_idle(ref[1])
  end
end

local function rest(state, link)
  link.idle_since = rpc.now()
  state.idle[#state.idle + 1] = link
  if state.is_reaped then return end
  state.is_reaped = true
  rpc.spawn(reap, link_of.weak(state))
end

-- A server may still be at work on a notification that it has taken, and would
-- take the end of its connection for ours. So a connection that has carried one
-- (it is told) carries no calls, which may be given up.
local function wake_idle(state, is_call)
  for i = #state.idle, 1, -1 do
    local link = state.idle[i]
    if not dial.usable(link.raw) then
      close(state, link)
    elseif not (is_call and link.is_told) then
      return table.remove(state.idle, i)
    end
  end
  if is_call and state.count >= state.options.connections and state.idle[1] then
    close(state, state.idle[1])
  end
  return nil
end

local open_more

-- A link is free, or can't be used any more.
local function give_back(state, link)
  local is_awaited = state.waiting.count > 0
  if state.ended or not dial.usable(link.raw) or (link.is_told and is_awaited) then
    close(state, link)
    open_more(state)
  elseif not queue.let_one_go(state.waiting, link) then
    rest(state, link)
  end
end

-- Opening.

-- Tries that begin together, and connections that end together, are one
-- failure: `before` is how many there were when they began.
local function count_failure(state, before)
  state.failures = math.max(state.failures, before + 1)
end

local function opened(state, link, before)
  local is_first = state.count == state.opening
  state.links[link] = true
  link.failures = before
  link_of.note_opened(state, link)
  give_back(state, link)
  if is_first then link_of.tell_connected(state) end
end

-- One try: does it go on? While it fails, one goes on for all.
local function try(state, opening)
  if state.ended or state.waiting.count == 0 then return false end
  local before = state.failures
  local link, why = link_of.open(state, on_end)
  if link then
    opening.link = link
    opened(state, link, before)
    return false
  end
  if state.ended then return false end
  if not state.options.reconnect then
    state:finish(why)
    return false
  end
  count_failure(state, before)
  link_of.note_failure(state, why)
  return state.opening == 1
end

local function open_one(ref)
  local opening <close> = setmetatable({}, { __close = function(opening)
    local state = ref[1]
    if not state then return end
    state.opening = state.opening - 1
    if not opening.link then state.count = state.count - 1 end
  end })
  local goes_on = true
  while goes_on do
    if ref[1] and ref[1].failures > 0 then rpc.sleep(link_of.pause(ref[1])) end
    local state = ref[1]
    goes_on = state and try(state, opening)
  end
end

-- A connection for each that waits, up to the limit.
function open_more(state)
  local options = state.options
  while not state.ended and state.count < options.connections
    and (state.failures == 0 or state.opening == 0)
    and state.waiting.count > state.opening do
    state.count = state.count + 1
    state.opening = state.opening + 1
    rpc.spawn(open_one, link_of.weak(state))
  end
end

-- A place that holds a link gives it back.
local Use = { __close = function(use)
  queue.leave(use)
  if use.holds then give_back(use.state, use.holds) end
end }

local function take(use, deadline, is_call)
  local state = use.state
  if state.ended then dial.raise_gone(state.reason) end
  use.holds = wake_idle(state, is_call)
  if use.holds then return end
  queue.wait_in(use, state.waiting, deadline, function() open_more(state) end)
  if state.ended then
    use.holds = nil
    dial.raise_gone(state.reason)
  end
end

-- What lua/connect.lua asks of a kind of client: see lua/link.lua.

function M.init(state)
  state.waiting, state.links, state.idle = queue.new(), {}, {}
  state.count, state.opening = 0, 0 -- of connections; those being opened among them
end

function M.begin(state)
  state.count, state.opening = 1, 1
  local link, why, is_bad = link_of.open(state, on_end)
  if link then opened(state, link, 0) else state.count = 0 end
  state.opening = 0
  return link ~= nil, why, is_bad
end

function M.go_on() end

function M.use(state, deadline, fn, ...)
  local use <close> = setmetatable({ state = state, outage = state }, Use)
  take(use, deadline, fn ~= M.notify)
  local link = use.holds
  link.is_told = link.is_told or fn == M.notify
  local ok, result = pcall(fn, link.raw, ...)
  if queue.is_answer(ok, result) then link_of.note_up(state) end
  if ok then
    state.failures = 0
    return true, result
  end
  if not queue.is_gone(result) or dial.usable(link.raw) then return false, result end
  local reason = link_of.reason(link)
  count_failure(state, link.failures)
  if not state.options.reconnect then
    state:finish(reason)
  elseif not state.ended then
    link_of.note_down(state, "connection lost", reason)
  end
  return false, result, reason
end

-- Until it is taken nothing else may go over the connection.
function M.notify(raw, method, params, deadline)
  dial.tell(raw, method, params, { timeout = math.max(deadline - rpc.now(), 0) })
end

function M.current(state)
  for i = #state.idle, 1, -1 do
    if not state.idle[i].is_told then return state.idle[i].raw end
  end
  return nil
end

function M.finish(state, reason)
  for link in pairs(state.links) do link.raw:close(reason) end
  state.links, state.idle = {}, {}
  while queue.let_one_go(state.waiting) do end
end

return M
