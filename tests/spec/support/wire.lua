-- How messages look on the wire: newline-delimited, with Content-Length, in
-- HTTP, in frames of a WebSocket. Each takes messages from a connection
-- (support.conn) as they come.
local wire = {}

-- One message a line.
wire.line = {}

---@param text string
---@return string
function wire.line.wrap(text)
  return text .. "\n"
end

---@param connection Conn
---@param seconds number?
---@return string
function wire.line.read(connection, seconds)
  return connection:line(seconds)
end

-- Content-Length, as in the Language Server Protocol.
wire.header = {}

---@param text string
---@return string
function wire.header.wrap(text)
  return ("Content-Length: %d\r\n\r\n%s"):format(#text, text)
end

local function read_block(connection, seconds, what)
  local past = connection:wait(function(data)
    return select(2, data:find("\r\n\r\n", 1, true))
  end, seconds, what)
  return connection:take(past)
end

local function read_body(connection, length, seconds)
  connection:wait(function(data) return #data >= length end, seconds,
    length .. " bytes of body")
  return connection:take(length)
end

---@param connection Conn
---@param seconds number?
---@return string
function wire.header.read(connection, seconds)
  local block = read_block(connection, seconds, "a header")
  local length = block:match("[Cc]ontent%-[Ll]ength: *(%d+) *\r\n")
  assert(length, "no Content-Length in " .. block)
  return read_body(connection, tonumber(length), seconds)
end

-- HTTP/1.1.
wire.http = {}

-- A request. `fields` replace or (with false) remove those made here; a list of
-- two strings in them is added as it is.
---@param text string? the body
---@param fields table?
---@param line string? default "POST / HTTP/1.1"
---@return string
function wire.http.wrap(text, fields, line)
  local all = {
    Host = "localhost",
    ["Content-Type"] = text and "application/json" or nil,
    ["Content-Length"] = text and tostring(#text) or nil,
  }
  local list = { line or "POST / HTTP/1.1" }
  for name, field in pairs(fields or {}) do
    if type(name) == "string" then all[name] = field or nil end
  end
  for name, field in pairs(all) do list[#list + 1] = name .. ": " .. field end
  for _, field in ipairs(fields or {}) do list[#list + 1] = field end
  return table.concat(list, "\r\n") .. "\r\n\r\n" .. (text or "")
end

-- The body cut into chunks of `size` bytes.
---@param text string
---@param size integer
---@return string
function wire.http.chunks(text, size)
  local list = {}
  for at = 1, #text, size do
    local chunk = text:sub(at, at + size - 1)
    list[#list + 1] = ("%x\r\n%s\r\n"):format(#chunk, chunk)
  end
  return table.concat(list) .. "0\r\n\r\n"
end

local function read_chunks(connection, seconds)
  local parts = {}
  while true do
    local size = tonumber(connection:line(seconds):match("^%x+"), 16)
    local chunk = read_body(connection, size, seconds)
    connection:line(seconds)
    if size == 0 then return table.concat(parts) end
    parts[#parts + 1] = chunk
  end
end

local function has_body(status, method)
  return not (status < 200 or status == 204 or status == 304 or method == "HEAD")
end

---@class Response
---@field status integer
---@field reason string
---@field headers table<string, string> by lower-case name
---@field body string
---@field block string the status line and header fields as they came

-- The next response. `method` of its request, where it matters (HEAD).
---@param connection Conn
---@param seconds number?
---@param method string?
---@return Response
function wire.http.read(connection, seconds, method)
  local block = read_block(connection, seconds, "a response")
  local status, reason = block:match("^HTTP/1%.1 (%d%d%d) ?([^\r\n]*)\r\n")
  assert(status, "no HTTP response: " .. block)
  local response = { status = tonumber(status), reason = reason, headers = {},
    block = block, body = "" }
  for name, field in block:gmatch("\r\n([^:\r\n]+):[ \t]*([^\r\n]*)") do
    name = name:lower()
    assert(not response.headers[name], "a header field came twice: " .. name)
    response.headers[name] = field
  end
  if not has_body(response.status, method) then return response end
  if (response.headers["transfer-encoding"] or ""):lower() == "chunked" then
    response.body = read_chunks(connection, seconds)
  elseif response.headers["content-length"] then
    local length = tonumber(response.headers["content-length"])
    response.body = read_body(connection, length, seconds)
  else
    response.body = connection:rest(seconds)
  end
  return response
end

-- WebSocket, the client's side, after `wire.ws.open`.
wire.ws = { TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 }

-- A masked frame; the mask is zero, so the payload stands there as it is.
---@param payload string
---@param opcode integer? text
---@param more boolean? it is not the last of its message
---@return string
function wire.ws.frame(payload, opcode, more)
  local first = (more and 0 or 0x80) | (opcode or wire.ws.TEXT)
  local head
  if #payload < 126 then
    head = string.pack(">BB", first, 0x80 | #payload)
  elseif #payload < 65536 then
    head = string.pack(">BBI2", first, 0x80 | 126, #payload)
  else
    head = string.pack(">BBI8", first, 0x80 | 127, #payload)
  end
  return head .. "\0\0\0\0" .. payload
end

---@param text string
---@return string
function wire.ws.wrap(text)
  return wire.ws.frame(text)
end

-- The request that opens a WebSocket, and what its key must be answered with.
---@param fields table? as in wire.http.wrap
---@param path string?
---@return string request, string accept
function wire.ws.handshake(fields, path)
  local all = {
    ["Content-Type"] = false, ["Content-Length"] = false,
    Upgrade = "websocket", Connection = "Upgrade",
    ["Sec-WebSocket-Version"] = "13",
    ["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25jZQ==",
  }
  for name, field in pairs(fields or {}) do all[name] = field end
  return wire.http.wrap(nil, all, ("GET %s HTTP/1.1"):format(path or "/")),
    "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
end

-- Makes a WebSocket of a connection to an HTTP listener.
---@param connection Conn
---@param fields table?
---@return Conn
function wire.ws.open(connection, fields)
  local request, accept = wire.ws.handshake(fields)
  connection:send(request)
  local block = read_block(connection, nil, "the answer to a handshake")
  assert(block:find("^HTTP/1%.1 101 ") and block:find(accept, 1, true), block)
  return connection
end

-- The next frame: opcode, payload, whether it is the last of its message.
---@param connection Conn
---@param seconds number?
---@return integer, string, boolean
function wire.ws.read_frame(connection, seconds)
  local first, size = read_body(connection, 2, seconds):byte(1, 2)
  assert(size < 128, "a server must not mask")
  if size == 126 then size = string.unpack(">I2", read_body(connection, 2, seconds)) end
  if size == 127 then size = string.unpack(">I8", read_body(connection, 8, seconds)) end
  return first & 15, read_body(connection, size, seconds), first & 0x80 ~= 0
end

-- The next message; pings are answered on the way.
---@param connection Conn
---@param seconds number?
---@return string
function wire.ws.read(connection, seconds)
  local parts = {}
  while true do
    local opcode, payload, is_last = wire.ws.read_frame(connection, seconds)
    if opcode == wire.ws.CLOSE then
      local code = #payload > 1 and string.unpack(">I2", payload) or "no code"
      error(("closed with %s %q"):format(code, payload:sub(3)), 2)
    elseif opcode == wire.ws.PING then
      connection:send(wire.ws.frame(payload, wire.ws.PONG))
    elseif opcode <= wire.ws.BINARY then
      parts[#parts + 1] = payload
      if is_last then return table.concat(parts) end
    end
  end
end

-- Waits for a close frame, over messages before it: code and reason.
---@param connection Conn
---@param seconds number?
---@return integer?, string
function wire.ws.read_close(connection, seconds)
  while true do
    local opcode, payload = wire.ws.read_frame(connection, seconds)
    if opcode == wire.ws.CLOSE then
      return #payload > 1 and string.unpack(">I2", payload) or nil, payload:sub(3)
    end
  end
end

return wire
