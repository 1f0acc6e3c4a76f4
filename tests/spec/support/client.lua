-- Calls for specs that care what is answered, not how it travels.
local cjson = require "cjson"
local transports = require "support.transports"

local client = {}

---@class Client
---@field session Session|HttpSession
---@field program Program? that it talks to, where that is known
local Client = {}
Client.__index = Client

local count = 0

---@param url string
---@param framing string?
---@return Client
function client.open(url, framing)
  return setmetatable({ session = transports.open(url, framing) }, Client)
end

---@param session Session
---@return Client
function client.over(session)
  return setmetatable({ session = session }, Client)
end

-- The text of a request; `params` is JSON text.
---@param method string
---@param params string?
---@param id string|integer|nil JSON text; nil for a notification
---@return string
function client.request(method, params, id)
  return ('{"jsonrpc":"2.0","method":%s%s%s}'):format(cjson.encode(method),
    params and ',"params":' .. params or "", id and ',"id":' .. id or "")
end

-- Sends a message and returns the next one that comes, as text.
---@param text string
---@param seconds number?
---@return string
function Client:ask(text, seconds)
  self.session:send(text)
  return self.session:next(seconds)
end

-- Calls a method: the whole answer, decoded, and as text.
---@param method string
---@param params string? JSON text
---@param seconds number?
---@return table, string
function Client:call(method, params, seconds)
  count = count + 1
  local text = self:ask(client.request(method, params, count), seconds)
  local answer = cjson.decode(text)
  assert(answer.id == count, "not an answer to call " .. count .. ": " .. text)
  return answer, text
end

-- Calls a method that must succeed: its result, decoded.
---@param method string
---@param params string?
---@param seconds number?
---@return any
function Client:result(method, params, seconds)
  local answer, text = self:call(method, params, seconds)
  if answer.error then error("it failed: " .. text, 2) end
  return answer.result
end

-- Calls a method that must fail: its error object, decoded.
---@param method string
---@param params string?
---@param seconds number?
---@return {code: integer, message: string, data: any}
function Client:failure(method, params, seconds)
  local answer, text = self:call(method, params, seconds)
  if not answer.error then error("it succeeded: " .. text, 2) end
  return answer.error
end

-- The result as the JSON text that came.
---@param method string
---@param params string?
---@return string
function Client:raw(method, params)
  local _, text = self:call(method, params)
  return text:match('^{"jsonrpc":"2.0","result":(.*),"id":%d+}$')
    or error("not a result: " .. text, 2)
end

---@param method string
---@param params string?
function Client:notify(method, params)
  self.session:send(client.request(method, params))
end

function Client:close()
  self.session:close()
end

return client
