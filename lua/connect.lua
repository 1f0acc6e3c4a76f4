-- rpc.connect: connections of our own that come back by themselves.
--
-- A client outlives its connections. Calls wait in two queues: for a place
-- among those in flight, and for a connection. Whoever waits holds a place,
-- whose __close gives back what it holds when the wait ends in whatever way.
-- src/runtime/dial.c opens connections and tells of their ends.
local rpc, dial = ...
local error, pairs, pcall, setmetatable, type = error, pairs, pcall, setmetatable, type
local math, random, tostring = math, math.random, tostring

local MAX_SENDS = 3 -- of an idempotent call whose connection dies under it
local STABLE = 5    -- seconds after which a connection's end isn't one more failure

local DEFAULTS = {
  reconnect = true, retry = false, connect_timeout = 5, in_flight = 1024,
  backoff_min = 0.1, backoff_max = 30,
}
local TYPES = {
  reconnect = "boolean", retry = "boolean", connect_timeout = "number", in_flight = "number",
  backoff_min = "number", backoff_max = "number", timeout = "number", on_connect = "function",
  headers = "table",
}
local CALL_TYPES = { timeout = "number", idempotent = "boolean" }

local function check_options(options, types, level)
  if options == nil then return {} end
  if type(options) ~= "table" then
    error("options must be a table, not a " .. type(options), level + 1)
  end
  for name, value in pairs(options) do
    local wanted = types[name]
    if not wanted then error(("there is no option '%s'"):format(tostring(name)), level + 1) end
    local is_good = type(value) == wanted and (wanted ~= "number" or value > 0)
    if not is_good then
      error(("option %s must be a %s"):format(name,
        wanted == "number" and "positive number" or wanted), level + 1)
    end
  end
  return options
end

-- Errors. Their codes are the embedder's to choose.

local function raise_gone(reason)
  local _, gone = dial.constants()
  local text = "The peer went away"
  if reason and reason ~= "" then text = text .. ": " .. reason end
  rpc.error(gone, text)
end

local function raise_late(reason)
  local timed_out = dial.constants()
  rpc.error(timed_out, reason and "Timed out: " .. reason or "Timed out")
end

-- Without the address, which those who read it know.
local function without_address(reason, url)
  if reason and reason:sub(1, #url + 2) == url .. ": " then return reason:sub(#url + 3) end
  return reason
end

local function has_code(err, code)
  return type(err) == "table" and err.code == code
end

-- Places in a queue.

-- The first that still waits; it holds what it waited for from now on.
local function let_one_go(queue)
  while queue.first <= queue.last do
    local place = queue[queue.first]
    queue[queue.first] = nil
    queue.first = queue.first + 1
    if not place.has_left then
      place.holds = true
      place.resume()
      return true
    end
  end
  return false
end

local function new_queue()
  return { first = 1, last = 0 }
end

-- Waits until it is let go, or raises.
local function wait_in(place, queue, deadline)
  local left = deadline - rpc.now()
  if left <= 0 then raise_late(place.why and place.why()) end
  local ok, err = pcall(rpc.await, function(resume)
    place.resume = resume
    queue.last = queue.last + 1
    queue[queue.last] = place
  end, left)
  if ok then return end
  place.has_left = true
  if has_code(err, (dial.constants())) then raise_late(place.why and place.why()) end
  error(err, 0)
end

-- Clients.

local Client = {}

-- A place among the calls in flight: handed on, or free.
local Slot = { __close = function(slot)
  slot.has_left = true
  if not slot.holds then return end
  local state = slot.state
  if not let_one_go(state.line) then state.in_flight = state.in_flight - 1 end
end }

local function take_slot(slot, deadline)
  local state = slot.state
  if state.in_flight < state.options.in_flight then
    state.in_flight = state.in_flight + 1
    slot.holds = true
  else
    wait_in(slot, state.line, deadline)
  end
end

local Waiting = { __close = function(place) place.has_left = true end }

local function wake_all(state)
  local queue = state.waiting
  state.waiting = new_queue()
  while let_one_go(queue) do end
end

local function finish(state, reason)
  if state.ended then return end
  state.ended, state.reason = true, reason
  if state.raw then state.raw:close() end
  state.raw = nil
  wake_all(state)
end

local maintain

-- A connection is kept for who may be called over it; HTTP carries nothing to
-- us, so there one is made when it is needed.
local function lost(state, raw, reason)
  if state.raw ~= raw then return end
  state.raw = nil
  state.reason = without_address(reason ~= "" and reason or "the connection was closed", state.url)
  if state.ended then return end
  if not state.options.reconnect then return finish(state, state.reason) end
  if rpc.now() - state.since >= STABLE then
    state.failures = 0
  elseif not (state.is_http and state.in_flight == 0) then
    state.failures = state.failures + 1
  end
  rpc.log.warn("connection lost", { url = state.url, reason = state.reason })
  if not state.is_http then maintain(state) end
end

-- Makes a connection: true, or false and why not.
local function connect(state, seconds)
  local link = {}
  local raw, why, is_bad = dial.open(state.url, seconds, function(reason)
    link.ended, link.reason = true, reason
    local state_now = link.state and link.state[1]
    if state_now then lost(state_now, link.raw, reason) end
  end, state.header)
  if not raw then return false, is_bad and why or without_address(why, state.url), is_bad end
  link.raw, link.state = raw, setmetatable({ state }, { __mode = "v" })
  if state.ended or link.ended then
    raw:close()
    return false, link.reason or "the connection was closed"
  end
  state.raw, state.since, state.transport = raw, rpc.now(), raw.transport
  state.reason, state.is_told = nil, false
  wake_all(state)
  return true
end

local function tell_connected(state)
  local fn, client = state.options.on_connect, state.client[1]
  if fn and client then rpc.spawn(fn, client) end
end

-- How long until the next try: exponential, with full jitter.
local function pause(state)
  local options = state.options
  local most = options.backoff_min * 2.0 ^ math.min(state.failures, 60)
  return random() * math.min(options.backoff_max, most)
end

local function is_awaited(queue)
  for i = queue.first, queue.last do
    if not queue[i].has_left then return true end
  end
  return false
end

-- One try; does it go on?
local function try(state)
  local ok, why = connect(state, state.options.connect_timeout)
  if ok then
    tell_connected(state)
    return false
  end
  state.failures = state.failures + 1
  state.reason = why
  if not state.is_told then
    state.is_told = true
    rpc.log.warn("can't connect, trying again", { url = state.url, reason = why })
  end
  return not state.is_http or is_awaited(state.waiting)
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
    if ref[1] and not at_once then seconds = pause(ref[1]) end
    at_once = false
    rpc.sleep(seconds)
    local state = ref[1]
    goes_on = state and not state.ended and not state.raw and try(state)
  end
end

function maintain(state, at_once)
  if state.trying then return end
  state.trying = true
  rpc.spawn(try_all, setmetatable({ state }, { __mode = "v" }), at_once)
end

-- The raw peer of a connection that can be called, or raises.
local function connected(state, deadline)
  while true do
    if state.ended then raise_gone(state.reason) end
    local raw = state.raw
    if raw and dial.usable(raw) then return raw end
    if raw then
      raw:close()
      lost(state, raw, "")
    end
    if not state.ended then
      maintain(state, state.failures == 0)
      local place <close> = setmetatable({ why = function() return state.reason end }, Waiting)
      wait_in(place, state.waiting, deadline)
    end
  end
end

local function deadline_of(state, options)
  local _, _, wait = dial.constants()
  return rpc.now() + (options.timeout or state.options.timeout or wait)
end

-- A late answer over HTTP would hold up those behind it.
local function end_late(state, raw, err)
  if state.is_http and state.in_flight == 1 and has_code(err, (dial.constants())) then
    raw:close()
  end
end

local states = setmetatable({}, { __mode = "k" })

local function state_of(client)
  return states[client] or error("a client is needed: client:call(...), with a colon", 3)
end

function Client:call(method, params, options)
  local state = state_of(self)
  options = check_options(options, CALL_TYPES, 2)
  local deadline = deadline_of(state, options)
  local slot <close> = setmetatable({ state = state }, Slot)
  take_slot(slot, deadline)
  for send = 1, MAX_SENDS do
    local raw = connected(state, deadline)
    local left = math.max(deadline - rpc.now(), 0)
    local ok, result = pcall(raw.call, raw, method, params, { timeout = left })
    if ok then return result end
    local _, gone = dial.constants()
    if not has_code(result, gone) or dial.usable(raw) then
      end_late(state, raw, result)
      error(result, 0)
    end
    if not options.idempotent or send == MAX_SENDS then raise_gone(state.reason) end
  end
end

function Client:notify(method, params, options)
  local state = state_of(self)
  options = check_options(options, CALL_TYPES, 2)
  connected(state, deadline_of(state, options)):notify(method, params)
end

function Client:close(reason)
  local state = state_of(self)
  if state.raw and not state.ended then state.raw:close(reason) end
  finish(state, "it was closed")
end

function Client:closed()
  return state_of(self).ended
end

local meta = { __name = "rpc.client" }

function meta.__index(client, key)
  if Client[key] then return Client[key] end
  local state = states[client]
  if key == "transport" then return state.transport end
  if key == "address" then return state.url end
  if key == "id" then return state.raw and state.raw.id end
  return nil
end

function meta.__newindex(_, key)
  error(("a client's field '%s' can't be set: keep what is yours in the table client.data")
    :format(tostring(key)), 2)
end

function meta.__tostring(client)
  return "rpc.client (" .. states[client].url .. ")"
end

function meta.__gc(client)
  local state = states[client]
  if state then finish(state, "nobody holds it") end
end

-- Fields that are the transport's own.
local OWN = {}
for name in ("host connection upgrade content-length content-type transfer-encoding"):gmatch("%S+")
do OWN[name] = true end

local function write_headers(headers, scheme)
  if not headers then return nil end
  if scheme ~= "http" and scheme ~= "ws" then
    error("option headers is for HTTP and WebSocket", 3)
  end
  local lines = ""
  for name, value in pairs(headers) do
    local is_good = type(name) == "string" and name:find("^[%w!#$%%&'*+.^_`|~-]+$")
      and type(value) == "string" and not value:find("[^\t -~]")
    local is_own = is_good and (OWN[name:lower()] or name:lower():find("^sec%-websocket"))
    if not is_good or is_own then
      error(("option headers: %s can't be set%s"):format(tostring(name),
        is_own and ": it is the connection's own" or " to that"), 3)
    end
    lines = lines .. name .. ": " .. value .. "\r\n"
  end
  return lines
end

local function with_defaults(options)
  local all = {}
  for name, value in pairs(DEFAULTS) do all[name] = value end
  for name, value in pairs(options) do all[name] = value end
  return all
end

local function scheme_of(url)
  return url:match("^%a+") or ""
end

function rpc.connect(url, options)
  if not dial.is_granted then error("rpc.connect isn't granted to this program's scripts", 2) end
  if type(url) ~= "string" then error("the address must be a string, not a " .. type(url), 2) end
  local state = {
    url = url, options = with_defaults(check_options(options, TYPES, 2)),
    in_flight = 0, line = new_queue(), waiting = new_queue(), failures = 0, since = 0,
    transport = scheme_of(url), is_http = scheme_of(url) == "http", ended = false,
  }
  state.header = write_headers(state.options.headers, state.transport)
  local client = setmetatable({ data = {} }, meta)
  states[client] = state
  state.client = setmetatable({ client }, { __mode = "v" })
  local ref = setmetatable({ state }, { __mode = "v" })
  state.anchor = dial.own(function()
    if ref[1] then finish(ref[1], "the file that made the connection was replaced") end
  end)
  if state.options.retry then
    maintain(state, true)
    return client
  end
  state.trying = true
  local ok, why, is_bad = connect(state, state.options.connect_timeout)
  state.trying = false
  if not ok then
    finish(state, why)
    if is_bad then error(why, 2) end
    raise_gone(why)
  end
  tell_connected(state)
  return client
end

