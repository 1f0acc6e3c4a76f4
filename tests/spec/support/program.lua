-- The built program as a child process: starts it, reads what it says, sends
-- it signals, waits for its end. MOONRPC names the program.
local uv = require "luv"
local loop = require "support.loop"

local program = {}

program.path = os.getenv("MOONRPC") or "build/moonrpc"

-- Under sanitizers memory figures mean little, and what they report fails the
-- spec that provoked it.
program.is_sanitized = (os.getenv("MOONRPC_BUILD") or ""):find("address", 1, true) ~= nil

---@class Program
---@field pid integer
---@field out string what it wrote to stdout (unless a connection reads it)
---@field err string what it wrote to stderr
---@field urls string[] from its lines "listening on URL"
---@field code integer? its exit code, once it has ended
---@field signal integer? the signal that ended it, 0 if none
local Program = {}
Program.__index = Program

local started = {} -- all that were, until clean

local function environment(changes)
  local list = {}
  for name, value in pairs(uv.os_environ()) do
    if changes[name] == nil then list[#list + 1] = name .. "=" .. value end
  end
  for name, value in pairs(changes) do
    if value then list[#list + 1] = name .. "=" .. value end
  end
  return list
end

local function collect(self, pipe, field)
  pipe:read_start(function(_, data)
    if data then
      self[field] = self[field] .. data
    else
      self[field .. "_ended"] = true
      if not pipe:is_closing() then pipe:close() end
    end
  end)
end

-- A pipe for its stderr as shells make it; what luv makes is a socket.
local function open_pipe()
  local ends = assert(uv.pipe({ nonblock = true }, {}))
  local reader = uv.new_pipe(false)
  assert(reader:open(ends.read))
  return reader, ends.write
end

-- Starts it with the arguments given.
---@param args string[]
---@param options {stdin: boolean?, stdout: boolean?, env: table?, cwd: string?, path: string?,
--- log: string?}?
--- stdin: opens a pipe to it (`stdin` of the result); stdout: false leaves its
--- stdout to somebody else; path: another program; log: "pipe" for a stderr
--- that is no socket
---@return Program
function program.start(args, options)
  options = options or {}
  local stdin = options.stdin and uv.new_pipe(false) or nil
  local stdout, stderr = uv.new_pipe(false), uv.new_pipe(false)
  local log = stderr
  if options.log == "pipe" then stderr, log = open_pipe() end
  local self = setmetatable({ out = "", err = "", urls = {},
    stdin = stdin, stdout = stdout, stderr = stderr }, Program)
  local process, pid = uv.spawn(options.path or program.path, {
    args = args,
    stdio = { stdin, stdout, log },
    env = environment(options.env or {}),
    cwd = options.cwd,
  }, function(code, signal)
    self.code, self.signal = code, signal
    self.process:close()
  end)
  if log ~= stderr then uv.fs_close(log) end
  assert(process, pid)
  self.process, self.pid = process, pid
  started[#started + 1] = self
  collect(self, stderr, "err")
  if options.stdout == false then
    self.out_ended = true -- as far as we are concerned
  else
    collect(self, stdout, "out")
  end
  return self
end

-- Runs it to its end: exit code, stdout, stderr. `input` is fed to its stdin.
---@param args string[]
---@param options {input: string?, seconds: number?, env: table?, cwd: string?, path: string?}?
---@return integer, string, string
function program.run(args, options)
  options = options or {}
  local self = program.start(args, {
    stdin = options.input ~= nil, env = options.env, cwd = options.cwd,
    path = options.path,
  })
  if options.input then
    self.stdin:write(options.input)
    self.stdin:shutdown(function() self.stdin:close() end)
  end
  local code = self:wait_exit(options.seconds)
  return code, self.out, self.err
end

-- Gives a command arguments that it must refuse: exit code 2, words on stderr,
-- nothing on stdout. The first that it doesn't refuse so, as text; nil: none.
---@param command string
---@param cases string[][]
---@return string?
function program.find_accepted(command, cases)
  for _, args in ipairs(cases) do
    local code, out, err = program.run { command, table.unpack(args) }
    if code ~= 2 or out ~= "" or err == "" then
      return ("%s %s: code %s, %q, %q"):format(command, table.concat(args, " "), code, out, err)
    end
  end
  return nil
end

-- The words of a command, with the program and its arguments behind them.
local function put_under(command, args)
  local words = { table.unpack(command, 2) }
  words[#words + 1] = program.path
  return table.move(args, 1, #args, #words + 1, words)
end

-- Serves `dir` and waits until it listens. `listen`: URLs; default: one HTTP
-- listener on a free port. `args`: further arguments. `under`: the words of a
-- command that becomes the program.
---@param dir string
---@param options {listen: string[]?, args: string[]?, stdin: boolean?, env: table?,
--- under: string[]?, log: string?}?
---@return Program
function program.serve(dir, options)
  options = options or {}
  local listen = options.listen or { "http://127.0.0.1:0" }
  local args = { "serve", dir }
  for _, url in ipairs(listen) do
    args[#args + 1] = "--listen"
    args[#args + 1] = url
  end
  for _, arg in ipairs(options.args or {}) do args[#args + 1] = arg end
  local under = options.under
  local self = program.start(under and put_under(under, args) or args, {
    stdin = options.stdin, stdout = not options.stdin, env = options.env, path = under and under[1],
    log = options.log,
  })
  self:wait_listening(#listen)
  return self
end

---@param count integer
---@param seconds number?
function Program:wait_listening(count, seconds)
  loop.wait(function()
    self.urls = {}
    for url in self.err:gmatch("listening on (%S+)[^\n]*\n") do
      self.urls[#self.urls + 1] = url
    end
    return #self.urls >= count or self.code
  end, seconds, function() return "its listeners:\n" .. self.err end)
  if #self.urls < count then
    error(("ended with code %s before it listened:\n%s"):format(self.code, self.err), 2)
  end
end

-- Waits until stderr has a line that matches the pattern, from the position
-- `from` on (default: from its start); returns the line and where the next
-- search may begin.
---@param pattern string
---@param seconds number?
---@param from integer?
---@return string, integer
function Program:wait_log(pattern, seconds, from)
  local found, next_from
  loop.wait(function()
    for line, past in self.err:gmatch("([^\n]*)\n()", from or 1) do
      if line:find(pattern) then
        found, next_from = line, past
        return true
      end
    end
  end, seconds, function()
    return ("a log line like %q in:\n%s"):format(pattern, self.err)
  end)
  return found, next_from
end

-- Reads no more of its stderr; the kernel's buffers fill up.
function Program:ignore_log()
  self.stderr:read_stop()
end

-- Goes on with it.
function Program:read_log()
  collect(self, self.stderr, "err")
end

---@param signal string? "sigterm" by default
function Program:kill(signal)
  if not self.code then self.process:kill(signal or "sigterm") end
end

-- Waits for its end and the end of its output: exit code and signal.
---@param seconds number?
---@return integer, integer
function Program:wait_exit(seconds)
  loop.wait(function()
    return self.code and self.err_ended and self.out_ended
  end, seconds, function() return "its exit; stderr:\n" .. self.err end)
  return self.code, self.signal
end

-- Asks it to end and waits; it must end well.
---@return integer
function Program:stop()
  self:kill("sigterm")
  return self:wait_exit()
end

-- Bytes of memory that it has in RAM now.
---@return integer
function Program:memory()
  local file = assert(io.open(("/proc/%d/statm"):format(self.pid)))
  local pages = file:read("a"):match("^%d+ (%d+)")
  file:close()
  return tonumber(pages) * 4096
end

-- Files, sockets and the like that it has open now.
---@return integer
function Program:descriptors()
  local count, scan = 0, assert(uv.fs_scandir(("/proc/%d/fd"):format(self.pid)))
  while uv.fs_scandir_next(scan) do count = count + 1 end
  return count
end

-- Ends it without a drain; under sanitizers in a way that lets them report.
local function finish(self)
  if not program.is_sanitized or self.code then return self:kill("sigkill") end
  self:kill("sigterm")
  self:kill("sigterm")
  if not pcall(loop.wait, function() return self.code end, 20, "") then
    self:kill("sigkill")
  end
end

local function findings(self)
  if not self.err:find("Sanitizer", 1, true) and not self.err:find("runtime error:", 1, true) then
    return nil
  end
  return self.err
end

-- Ends all that is still running, at once: call it after each test.
function program.clean()
  local list, report = started, nil
  started = {}
  for _, self in ipairs(list) do
    finish(self)
    loop.wait(function() return self.code end, nil, "the end of a program")
    loop.wait(function() return self.err_ended or self.signal == 9 end, nil, "the end of its log")
    report = report or findings(self)
    for _, pipe in pairs { self.stdin, self.stdout, self.stderr } do
      if not pipe:is_closing() then pipe:close() end
    end
  end
  uv.run("nowait")
  if report then error("a sanitizer has something to say:\n" .. report, 0) end
end

return program
