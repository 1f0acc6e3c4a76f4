-- One connection of a client's, which comes back by itself: of every transport
-- but HTTP, whose connections stand in a pool.
local rpc, dial, queue = ...
local math, pcall, random, setmetatable = math, pcall, math.random, setmetatable

local STABLE = 5 -- seconds after which a connection's end isn't one more failure

local M = {}

-- A reference that holds nothing.
function M.weak(value)
  return setmetatable({ value }, { __mode = "v" })
end

-- Without the address, which those who read it know.
local function without_address(reason, url)
  return reason:sub(1, #url + 2) == url .. ": " and reason:sub(#url + 3) or reason
end

local function note_reason(link, reason)
  link.reason = reason ~= "" and without_address(reason, link.url) or "the connection was closed"
end

-- Why a link can't be used any more. Its end comes later than that, as long as
-- a server may still be sending.
function M.reason(link)
  if not link.reason then note_reason(link, dial.reason(link.raw)) end
  return link.reason
end

-- Makes a connection: a link, or nil, why not, and whether the address is to
-- blame. `on_end(state, link, reason)` hears of its end. A link holds its
-- client weakly.
function M.open(state, on_end)
  local link = { url = state.url, since = rpc.now() }
  local raw, why, is_bad = dial.open(state.url, state.options.connect_timeout, function(reason)
    link.ended = true
    note_reason(link, reason)
    local state_now = link.state and link.state[1]
    if state_now then on_end(state_now, link) end
  end, state.header)
  if not raw then return nil, is_bad and why or without_address(why, state.url), is_bad end
  link.raw = raw
  link.state = M.weak(state)
  if state.ended or link.ended then
    raw:close()
    return nil, M.reason(link)
  end
  return link
end

-- How long until the next try: exponential, with full jitter.
function M.pause(state)
  local options = state.options
  local most = options.backoff_min * 2.0 ^ math.min(state.failures, 60)
  return random() * math.min(options.backoff_max, most)
end

-- Outages. The log tells of their begin and their end, not of what fails in
-- between: a connection, again and again, or a call. One ends when a call is
-- answered, or when a connection has lasted; many break as soon as they are made.

function M.note_down(state, what, why)
  state.reason = why
  if state.is_down then return end
  state.is_down = true
  rpc.log.warn(what, { url = state.url, reason = why })
end

function M.note_failure(state, why)
  M.note_down(state, "can't connect, trying again", why)
end

function M.note_up(state)
  if not state.is_down then return end
  state.is_down, state.reason = false, nil
  rpc.log.info("connection is back", { url = state.url })
end

function M.note_opened(state, link)
  state.transport = link.raw.transport
end

function M.tell_connected(state)
  local fn, client = state.options.on_connect, state.client[1]
  if fn and client then rpc.spawn(fn, client) end
end

-- Places that wait for the connection.
local Waiting = { __close = queue.leave }

local function wake_all(state)
  local waiting = state.waiting
  state.waiting = queue.new()
  while queue.let_one_go(waiting) do end
end

local maintain

local function lost(state, link)
  if state.link ~= link then return end
  state.link = nil
  state.reason = link.reason
  if state.ended then return end
  if not state.options.reconnect then return state:finish(link.reason) end
  state.failures = rpc.now() - link.since >= STABLE and 0 or state.failures + 1
  M.note_down(state, "connection lost", link.reason)
  maintain(state)
end

-- It can't be used any more, whether its end has been told or not.
local function drop(state, link)
  M.reason(link)
  link.raw:close()
  lost(state, link)
end

local function connect(state)
  local link, why, is_bad = M.open(state, lost)
  if not link then return false, why, is_bad end
  state.link = link
  M.note_opened(state, link)
  wake_all(state)
  return true
end

local function end_outage(ref, link)
  rpc.sleep(STABLE)
  local state = ref[1]
  if state and state.link == link then M.note_up(state) end
end

-- One try; does it go on?
local function try(state)
  local ok, why = connect(state)
  if ok then
    if state.is_down then rpc.spawn(end_outage, M.weak(state), state.link) end
    M.tell_connected(state)
    return false
  end
  state.failures = state.failures + 1
  M.note_failure(state, why)
  return true
end

-- Tries until there is a connection. Between two tries only the weak reference
-- is held, so that a client that nobody holds any more can go.
local function try_all(ref, at_once)
  local trying <close> = setmetatable({}, { __close = function() -- luacheck: ignore 211
    if ref[1] then ref[1].trying = false end
  end })
  local goes_on = true
  while goes_on do
    local seconds = 0
    if ref[1] and not at_once then seconds = M.pause(ref[1]) end
    at_once = false
    rpc.sleep(seconds)
    local state = ref[1]
    goes_on = state and not state.ended and not state.link and try(state)
  end
end

function maintain(state, at_once)
  if state.trying then return end
  state.trying = true
  rpc.spawn(try_all, M.weak(state), at_once)
end

-- The link when it can be called; waits for it, or raises.
local function connected(state, deadline)
  while true do
    if state.ended then dial.raise_gone(state.reason) end
    local link = state.link
    if link and dial.usable(link.raw) then return link end
    if link then drop(state, link) end
    if not state.ended then
      maintain(state, state.failures == 0)
      local place <close> = setmetatable({ outage = state }, Waiting)
      queue.wait_in(place, state.waiting, deadline)
    end
  end
end

-- What lua/connect.lua asks of a kind of client.

function M.init(state)
  state.waiting = queue.new()
end

-- The first try: true, or false, why not, and whether the address is to blame.
function M.begin(state)
  state.trying = true
  local ok, why, is_bad = connect(state)
  state.trying = false
  if ok then M.tell_connected(state) end
  return ok, why, is_bad
end

-- Goes on trying from here on.
function M.go_on(state)
  maintain(state, true)
end

-- Calls fn(raw, ...): true and its result, or false, its error, and the link's
-- end if that was why.
function M.use(state, deadline, fn, ...)
  local link = connected(state, deadline)
  local ok, result = pcall(fn, link.raw, ...)
  if fn ~= M.notify and queue.is_answer(ok, result) then M.note_up(state) end
  if ok then return true, result end
  if not queue.is_gone(result) or dial.usable(link.raw) then return false, result end
  drop(state, link)
  return false, result, link.reason
end

function M.notify(raw, method, params)
  raw:notify(method, params)
end

function M.current(state)
  return state.link and state.link.raw
end

function M.finish(state, reason)
  if state.link then state.link.raw:close(reason) end
  state.link = nil
  wake_all(state)
end

return M
