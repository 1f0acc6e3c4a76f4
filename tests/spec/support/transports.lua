-- Sessions: one way to talk to a host, whatever the transport. A session sends
-- messages and reads messages; statuses and framings are its own business.
local conn = require "support.conn"
local wire = require "support.wire"
local loop = require "support.loop"

local transports = {}

local function transport(name, url, framing)
  return { name = name, url = url, framing = framing }
end

-- All transports. In a URL, DIR stands for a directory for sockets.
transports.list = {
  transport("http", "http://127.0.0.1:0"),
  transport("http+unix", "http+unix:DIR/http.sock"),
  transport("ws", "http://127.0.0.1:0", "ws"),
  transport("ws+unix", "http+unix:DIR/ws.sock", "ws"),
  transport("tcp, line", "tcp://127.0.0.1:0", "line"),
  transport("tcp, header", "tcp://127.0.0.1:0", "header"),
  transport("unix, line", "unix:DIR/line.sock", "line"),
  transport("unix, header", "unix:DIR/header.sock", "header"),
  transport("stdio, line", "stdio:", "line"),
  transport("stdio, header", "stdio:", "header"),
}

-- One connection with messages framed by `framing`.
---@class Session
local Session = {}
Session.__index = Session

---@param connection Conn
---@param framing string "line", "header" or "ws"
---@return Session
function transports.stream(connection, framing)
  return setmetatable({ connection = connection, wire = wire[framing] }, Session)
end

---@param text string
---@param size integer? bytes a write; default: one write
function Session:send(text, size)
  local bytes = self.wire.wrap(text)
  if size then
    self.connection:send_bytewise(bytes, size)
  else
    self.connection:send(bytes)
  end
end

-- The next message.
---@param seconds number?
---@return string
function Session:next(seconds)
  return self.wire.read(self.connection, seconds)
end

-- Nothing is owed any more, as far as can be told here.
function Session:settle() end

function Session:close()
  self.connection:close()
end

-- HTTP: requests in flight each have a connection, which serves again later.
---@class HttpSession
local HttpSession = {}
HttpSession.__index = HttpSession

---@param url string
---@return HttpSession
function transports.http(url)
  return setmetatable({ url = url, idle = {}, busy = {} }, HttpSession)
end

function HttpSession:send(text, size)
  local connection = table.remove(self.idle) or conn.open(self.url)
  self.busy[#self.busy + 1] = connection
  local bytes = wire.http.wrap(text)
  if size then
    connection:send_bytewise(bytes, size)
  else
    connection:send(bytes)
  end
end

-- Takes the answer of the first connection that has one; "" for silence, nil
-- when none has come.
local function take_answer(self)
  for i, connection in ipairs(self.busy) do
    if #connection.data > 0 or connection.eof then
      local response = wire.http.read(connection)
      table.remove(self.busy, i)
      self.idle[#self.idle + 1] = connection
      if response.status == 204 then return "" end
      assert(response.status == 200, response.block .. response.body)
      return response.body
    end
  end
end

function HttpSession:next(seconds)
  return loop.wait(function()
    local answer
    repeat answer = take_answer(self) until answer ~= ""
    return answer
  end, seconds, "an HTTP answer")
end

-- Waits until every request has its answer; none may be a message.
function HttpSession:settle()
  loop.wait(function()
    for answer in take_answer, self do
      if answer ~= "" then error("nobody expected " .. answer) end
    end
    return #self.busy == 0
  end, nil, "the silent answers")
end

function HttpSession:close()
  for _, list in ipairs { self.idle, self.busy } do
    for _, connection in ipairs(list) do connection:close() end
  end
end

-- A session at a URL: HTTP, or a stream with the framing given.
---@param url string
---@param framing string?
function transports.open(url, framing)
  if framing == "ws" then return transports.stream(wire.ws.open(conn.open(url)), "ws") end
  if url:find("^http") then return transports.http(url) end
  return transports.stream(conn.open(url), framing or "line")
end

return transports
