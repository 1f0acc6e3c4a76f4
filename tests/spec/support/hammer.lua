-- Many connections that call without pause, to see that whatever happens
-- meanwhile no call fails and no connection ends.
local conn = require "support.conn"
local loop = require "support.loop"

local hammer = {}

---@class Hammer
---@field answers integer how many have come
---@field faults string[] what was wrong with some
---@field slowest number seconds of the slowest answer so far
local Hammer = {}
Hammer.__index = Hammer

local function note(self, what)
  if #self.faults < 10 then self.faults[#self.faults + 1] = what end
end

local function ask(self, connection)
  connection.asked = loop.now()
  connection:send(self.message)
end

local function take(self, connection, line)
  local slow = loop.now() - connection.asked
  if slow > self.slowest then self.slowest = slow end
  self.answers = self.answers + 1
  local fault = self.check(line, connection)
  if fault then note(self, fault .. ": " .. line) end
  if not self.stopped then ask(self, connection) end
end

local function listen(self, connection)
  local rest = ""
  connection.reader:read_start(function(err, data)
    if not data then
      if not self.stopped then note(self, "a connection ended: " .. (err or "EOF")) end
      return
    end
    rest = rest .. data
    for line, past in rest:gmatch("([^\n]*)\n()") do
      self.past = past
      take(self, connection, line)
    end
    rest = rest:match("([^\n]*)$")
  end)
end

-- Opens `count` newline-framed connections, each of which sends `message`,
-- waits for its one line of answer, has it looked at by `check(line,
-- connection)`, which returns what is wrong or nil, and starts again.
---@param url string
---@param count integer
---@param message string
---@param check fun(line: string, connection: Conn): string?
---@return Hammer
function hammer.start(url, count, message, check)
  local self = setmetatable({ answers = 0, faults = {}, slowest = 0,
    message = message .. "\n", check = check }, Hammer)
  for _ = 1, count do
    local connection = conn.open(url, { reading = false })
    listen(self, connection)
    ask(self, connection)
  end
  return self
end

-- Lets it go on until `count` more answers have come.
---@param count integer
function Hammer:wait(count)
  local enough = self.answers + count
  loop.wait(function() return self.answers >= enough or #self.faults > 0 end,
    nil, "answers to a hammer")
end

-- Stops asking.
function Hammer:stop()
  self.stopped = true
end

return hammer
