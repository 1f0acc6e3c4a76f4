-- How messages look on the wire: newline-delimited, with Content-Length, in
-- HTTP. Each takes messages from a connection (support.conn) as they come.
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

return wire
