-- rpc.connect: connections of our own that come back by themselves.
--
-- A client outlives its connections. Calls wait in two queues: for a place
-- among those in flight, and for a connection. lua/queue.lua has the queues,
-- lua/link.lua the one connection of most clients, lua/pool.lua the several of
-- an HTTP client; src/runtime/dial.c opens them and tells of their ends.
local rpc, dial = ...
local error, ipairs, pairs, setmetatable, type = error, ipairs, pairs, setmetatable, type
local math, tostring = math, tostring

local queue = dial.part("queue")(rpc, dial)
local link = dial.part("link")(rpc, dial, queue)
local pool = dial.part("pool")(rpc, dial, queue, link)

local MAX_SENDS = 3 -- of an idempotent call whose connection dies under it

local DEFAULTS = {
  reconnect = true, retry = false, connect_timeout = 5, in_flight = 1024,
  backoff_min = 0.1, backoff_max = 30, connections = 8, idle_time = 4,
}
local TYPES = {
  reconnect = "boolean", retry = "boolean", connect_timeout = "number", in_flight = "number",
  backoff_min = "number", backoff_max = "number", timeout = "number", on_connect = "function",
  headers = "table", connections = "number", idle_time = "number",
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

-- Clients. What a client is to others is an empty table; its state is here.

local Client = {}
local states = setmetatable({}, { __mode = "k" })

local function state_of(client)
  return states[client] or error("a client is needed: client:call(...), with a colon", 3)
end

-- `told` is what the other side is told.
local function finish(state, reason, told)
  if state.ended then return end
  state.ended, state.reason = true, reason
  state.kind.finish(state, told)
end

-- A place among the calls in flight: handed on, or free.
local Slot = { __close = function(slot)
  queue.leave(slot)
  if not slot.holds then return end
  local state = slot.state
  if not queue.let_one_go(state.line) then state.in_flight = state.in_flight - 1 end
end }

local function take_slot(slot, deadline)
  local state = slot.state
  if state.in_flight < state.options.in_flight then
    state.in_flight = state.in_flight + 1
    slot.holds = true
  else
    queue.wait_in(slot, state.line, deadline)
  end
end

local function deadline_of(state, options)
  local _, _, wait = dial.constants()
  return rpc.now() + (options.timeout or state.options.timeout or wait)
end

local function check_message(name, method, params)
  if type(method) ~= "string" then
    error(("bad argument #1 to '%s' (string expected, got %s)"):format(name, type(method)), 3)
  elseif params ~= nil and type(params) ~= "table" then
    error(("bad argument #2 to '%s' (params must be a table or nil, not a %s)")
      :format(name, type(params)), 3)
  end
end

-- Raises what a connection raised: what is wrong with an argument, at `level`.
local function raise(err, level)
  if type(err) ~= "string" then error(err, 0) end
  error(err:gsub("^rpc%.%a+:%d+: ", ""), level + 1)
end

-- The connection has ended under it.
local function raise_gone(state, reason)
  if state.ended then dial.raise_gone(state.reason) end
  dial.raise_gone(reason, state.is_down)
end

local function send_call(raw, method, params, deadline)
  return raw:call(method, params, { timeout = math.max(deadline - rpc.now(), 0) })
end

function Client:call(method, params, options)
  local state = state_of(self)
  check_message("call", method, params)
  options = check_options(options, CALL_TYPES, 2)
  local deadline = deadline_of(state, options)
  local slot <close> = setmetatable({ state = state }, Slot)
  take_slot(slot, deadline)
  local ok, result, reason
  for _ = 1, options.idempotent and MAX_SENDS or 1 do
    ok, result, reason = state.kind.use(state, deadline, send_call, method, params, deadline)
    if ok then return result end
    if not reason then raise(result, 2) end
  end
  raise_gone(state, reason)
end

function Client:notify(method, params, options)
  local state = state_of(self)
  check_message("notify", method, params)
  options = check_options(options, CALL_TYPES, 2)
  local deadline = deadline_of(state, options)
  local ok, err, reason = state.kind.use(state, deadline, state.kind.notify, method, params,
    deadline)
  if reason then raise_gone(state, reason) end
  if not ok then raise(err, 2) end
end

function Client:close(reason)
  finish(state_of(self), "it was closed", reason)
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
  if key == "id" then
    local raw = state.kind.current(state)
    return raw and raw.id
  end
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

local function check_pool_options(options, scheme)
  for _, name in ipairs { "connections", "idle_time" } do
    if options[name] and scheme ~= "http" then
      error(("option %s is for HTTP"):format(name), 3)
    end
  end
end

local function scheme_of(url)
  return url:match("^%a+") or ""
end

function rpc.connect(url, options)
  if not dial.is_granted then error("rpc.connect isn't granted to this program's scripts", 2) end
  if type(url) ~= "string" then error("the address must be a string, not a " .. type(url), 2) end
  local scheme = scheme_of(url)
  check_pool_options(check_options(options, TYPES, 2), scheme)
  local state = {
    url = url, options = with_defaults(options or {}), transport = scheme,
    kind = scheme == "http" and pool or link, finish = finish, ended = false,
    in_flight = 0, line = queue.new(), failures = 0,
  }
  state.kind.init(state)
  state.header = write_headers(state.options.headers, state.transport)
  local client = setmetatable({ data = {} }, meta)
  states[client] = state
  state.client = link.weak(client)
  local ref = link.weak(state)
  state.anchor = dial.own(function()
    if ref[1] then finish(ref[1], "the file that made the connection was replaced") end
  end)
  if state.options.retry then
    state.kind.go_on(state)
    return client
  end
  local ok, why, is_bad = state.kind.begin(state)
  if not ok then
    finish(state, why)
    if is_bad then error(why, 2) end
    dial.raise_gone(why)
  end
  return client
end
