-- Raw connections: bytes out as the spec says, bytes in as they come.
local uv = require "luv"
local loop = require "support.loop"

local conn = {}

---@class Conn
---@field data string what has arrived and wasn't taken yet
---@field eof boolean the other side has ended its sending, or the connection
---@field failed string? the error that ended it ("ECONNRESET")
local Conn = {}
Conn.__index = Conn

local open = {} -- to be closed by clean

-- Takes a URL apart: scheme, host, port, path (of the socket for unix).
---@param url string
---@return {scheme: string, host: string?, port: integer?, path: string}
function conn.parse(url)
  local bare = url:gsub("%?.*$", "")
  local scheme, rest = bare:match("^([%w+]+):(.*)$")
  if scheme == "unix" or scheme == "http+unix" or scheme == "stdio" then
    return { scheme = scheme, path = rest:gsub("^//", "") }
  end
  local host, port, path = rest:match("^//%[([^%]]*)%]:(%d+)(.*)$")
  if not host then host, port, path = rest:match("^//([^:/]*):(%d+)(.*)$") end
  assert(host, "no URL: " .. url)
  return { scheme = scheme, host = host, port = tonumber(port),
    path = path == "" and "/" or path }
end

local function wrap(reader, writer, options)
  local self = setmetatable({ reader = reader, writer = writer, data = "",
    eof = false, unsent = 0 }, Conn)
  open[self] = true
  if not (options and options.reading == false) then self:resume() end
  return self
end

-- Connects; reading starts at once unless options.reading is false.
---@param url string
---@param options {reading: boolean?}?
---@return Conn
function conn.open(url, options)
  local to = conn.parse(url)
  local stream, done, failure
  local function connected(err) done, failure = true, err end
  if to.host then
    stream = uv.new_tcp()
    local addresses = assert(uv.getaddrinfo(to.host, nil, { socktype = "stream" }))
    assert(stream:connect(addresses[1].addr, to.port, connected))
    stream:nodelay(true)
  else
    stream = uv.new_pipe(false)
    stream:connect(to.path, connected)
  end
  loop.wait(function() return done end, nil, "a connection to " .. url)
  if failure then
    stream:close()
    error(("can't connect to %s: %s"):format(url, failure), 2)
  end
  return wrap(stream, stream, options)
end

-- The stdin and stdout of a program that was started with `stdin = true`.
---@param program Program
---@param options {reading: boolean?}?
---@return Conn
function conn.stdio(program, options)
  return wrap(program.stdout, program.stdin, options)
end

function Conn:resume()
  self.reader:read_start(function(err, data)
    if data then
      self.data = self.data .. data
    else
      self.eof, self.failed = true, err
    end
  end)
end

-- Reads no more; the kernel's buffers fill up.
function Conn:pause()
  self.reader:read_stop()
end

-- Sends all of it in one write.
---@param bytes string
---@return Conn
function Conn:send(bytes)
  self.unsent = self.unsent + 1
  local ok, err = self.writer:write(bytes, function(failure)
    self.unsent = self.unsent - 1
    self.send_failed = self.send_failed or failure
  end)
  if not ok then
    self.unsent = self.unsent - 1
    self.send_failed = err
  end
  return self
end

-- Sends one byte a write, each after the one before has left; `size` bytes
-- where given. Stops when the other side closes.
---@param bytes string
---@param size integer?
---@return Conn
function Conn:send_bytewise(bytes, size)
  size = size or 1
  for at = 1, #bytes, size do
    if self.send_failed or self.failed then break end
    self:send(bytes:sub(at, at + size - 1))
    self:flush()
    uv.run("nowait")
  end
  return self
end

-- Waits until all that was sent has left.
---@param seconds number?
---@return Conn
function Conn:flush(seconds)
  loop.wait(function() return self.unsent == 0 end, seconds, "the end of a write")
  return self
end

-- Ends our sending: half-close.
---@return Conn
function Conn:finish()
  if self.reader == self.writer then
    self.writer:shutdown()
  else -- a pipe has only one direction: to end it is to close it
    self:flush()
    self.writer:close()
  end
  return self
end

-- Waits until `ready(data)` gives a value, and returns it. `ready` may take
-- from self.data. The end of the connection ends the waiting, with an error.
---@param ready fun(data: string): any
---@param seconds number?
---@param what string?
function Conn:wait(ready, seconds, what)
  local result
  loop.wait(function()
    result = ready(self.data)
    return result or self.eof
  end, seconds, function()
    return ("%s; unread: %q"):format(what or "data", self.data:sub(1, 2000))
  end)
  if not result then
    error(("the connection ended (%s) before %s; unread: %q"):format(
      self.failed or "EOF", what or "data", self.data:sub(1, 2000)), 2)
  end
  return result
end

-- Takes the first `count` bytes of what has arrived.
---@param count integer
---@return string
function Conn:take(count)
  local bytes = self.data:sub(1, count)
  self.data = self.data:sub(count + 1)
  return bytes
end

-- The next line, without its end.
---@param seconds number?
---@return string
function Conn:line(seconds)
  local past = self:wait(function(data) return data:find("\n", 1, true) end,
    seconds, "a line")
  return (self:take(past):gsub("\r?\n$", ""))
end

-- The next `count` lines.
---@param count integer
---@param seconds number?
---@return string[]
function Conn:lines(count, seconds)
  local lines = {}
  for i = 1, count do lines[i] = self:line(seconds) end
  return lines
end

-- Waits for the end of the connection; returns what came before.
---@param seconds number?
---@return string
function Conn:rest(seconds)
  loop.wait(function() return self.eof end, seconds, function()
    return ("the end of the connection; unread: %q"):format(self.data:sub(1, 2000))
  end)
  return self:take(#self.data)
end

-- Is it still open, as far as can be seen now?
---@return boolean
function Conn:is_open()
  uv.run("nowait")
  return not self.eof
end

function Conn:close()
  open[self] = nil
  for _, stream in ipairs { self.reader, self.writer } do
    if not stream:is_closing() then stream:close() end
  end
end

-- Ends a TCP connection by RST.
function Conn:reset()
  open[self] = nil
  self.reader:close_reset()
end

-- Gives the connection to a process that does nothing with it, and ends that
-- by SIGKILL.
function Conn:kill()
  local over = false
  local process = assert(uv.spawn("sleep", { args = { "1000" },
    stdio = { nil, nil, nil, self.reader } }, function() over = true end))
  self:close()
  uv.run("nowait")
  process:kill("sigkill")
  loop.wait(function() return over end, nil, "the end of a process")
  process:close()
end

-- Closes all that is open: call it after each test.
function conn.clean()
  for self in pairs(open) do self:close() end
  uv.run("nowait")
end

return conn
