-- SPDX-License-Identifier: MIT
-- Processes: servers that run beside us on their own core, with what they
-- print in a file of build/bench/log, and tools that run to their end.
local settings = require "bench.settings"
local uv = require "luv"

local proc = {}
local running = {}

function proc.quote(words)
  local quoted = {}
  for i, word in ipairs(words) do
    quoted[i] = "'" .. tostring(word):gsub("'", "'\\''") .. "'"
  end
  return table.concat(quoted, " ")
end

--- Runs a tool on the load's core. Returns what it printed, nil and that if
--- it failed.
function proc.run(words)
  local command = "taskset -c " .. settings.load_core .. " "
    .. proc.quote(words) .. " 2>&1"
  local pipe = assert(io.popen(command))
  local text = pipe:read("a")
  if pipe:close() then return text end
  return nil, text
end

--- Runs a tool that prints key=value figures, returned as a table.
function proc.figures(words)
  local text, failure = proc.run(words)
  if not text then error(words[1] .. " failed: " .. failure:gsub("%s+$", ""), 0) end
  local figures = {}
  for key, value in text:gmatch("(%w+)=([%d.]+)") do
    figures[key] = tonumber(value)
  end
  return figures
end

--- Waits until `ready` returns a value, which is returned; nil if that takes
--- longer than `seconds`.
function proc.wait(seconds, ready)
  local deadline = uv.hrtime() + seconds * 1e9
  while true do
    uv.run("nowait")
    local value = ready()
    if value or uv.hrtime() > deadline then return value end
    uv.sleep(1)
  end
end

--- Starts a server on the server's core; `extra` adds to its environment.
function proc.start(name, words, extra)
  local server = { name = name, log = settings.work .. "/log/" .. name }
  local env = {}
  for key, value in pairs(uv.os_environ()) do env[#env + 1] = key .. "=" .. value end
  for _, pair in ipairs(extra or {}) do env[#env + 1] = pair end
  local log = assert(uv.fs_open(server.log, "w", tonumber("644", 8)))
  local null = assert(uv.fs_open("/dev/null", "r", 0))
  local args = { "-c", tostring(settings.server_core), table.unpack(words) }
  server.handle, server.pid = uv.spawn("taskset", {
    args = args, env = env, stdio = { null, log, log },
  }, function()
    server.ended = true
    running[server] = nil
  end)
  uv.fs_close(log)
  uv.fs_close(null)
  assert(server.handle, server.pid)
  running[server] = true
  return server
end

function proc.log(server)
  local file <close> = assert(io.open(server.log, "rb"))
  return file:read("a")
end

local function ended(server)
  return function() return server.ended end
end

function proc.stop(server)
  if not server.ended then server.handle:kill("sigterm") end
  if not proc.wait(5, ended(server)) then
    server.handle:kill("sigkill")
    proc.wait(5, ended(server))
  end
  if not server.handle:is_closing() then server.handle:close() end
end

function proc.stop_all()
  for server in pairs(running) do server.handle:kill("sigkill") end
  proc.wait(5, function() return next(running) == nil end)
end

--- The pids of a server and of the children that it has made (nginx works in
--- one).
local function family(pid)
  local pids = { pid }
  local file = io.open(("/proc/%d/task/%d/children"):format(pid, pid))
  if file then
    for child in file:read("a"):gmatch("%d+") do pids[#pids + 1] = child end
    file:close()
  end
  return pids
end

--- Seconds of its core that a server has used.
function proc.cpu(server)
  local ticks = 0
  for _, pid in ipairs(family(server.pid)) do
    local file = io.open("/proc/" .. pid .. "/stat")
    if file then
      local rest = file:read("a"):match(".*%)%s+(.*)")
      local user, system = rest:match(("%S+%s+"):rep(11) .. "(%d+)%s+(%d+)")
      ticks = ticks + user + system
      file:close()
    end
  end
  return ticks / 100
end

--- Resident memory in bytes.
function proc.rss(server)
  for line in io.lines("/proc/" .. server.pid .. "/status") do
    local kilobytes = line:match("^VmRSS:%s*(%d+)")
    if kilobytes then return tonumber(kilobytes) * 1024 end
  end
end

return proc
