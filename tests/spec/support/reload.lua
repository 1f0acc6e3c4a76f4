-- Directories that are served and change: what specs of the reload stand on.
local cjson = require "cjson"
local support = require "support"
local loop = support.loop

local reload = {}

-- A served directory and a client of it.
---@param tree table<string, string>|string
---@param options table? as of support.serve
---@return Client, string, Program
function reload.watch(tree, options)
  options = options or {}
  options.watch = true
  if options.dev == nil then options.dev = true end -- for rpc.status
  options.listen = { "tcp://127.0.0.1:0" }
  local there, self = support.serve_client(tree, options)
  return there, self.dir, self
end

-- A file whose method, named like it, answers `value`.
---@return string
function reload.answering(value)
  return ("return function() return %s end\n"):format(cjson.encode(value))
end

-- Calls the method until `is_right(answer)`; how long that took. It fails when
-- patience is over, but not for a machine that stood still: so many calls were
-- made. What the host knows then tells a change that was missed (nothing in the
-- log), one that failed, and one that was slow apart.
local function ask_until(there, method, is_right, what)
  local from, calls, slowest, answer = loop.now(), 0, 0, nil
  while loop.now() - from < loop.patience or calls < 200 do
    local before = loop.now()
    answer = there:call(method)
    slowest = math.max(slowest, loop.now() - before)
    calls = calls + 1
    if is_right(answer) then return loop.now() - from end
    loop.pass(0.005)
  end
  local status = cjson.encode(there:call("rpc.status"))
  local log = there.program and there.program.err:sub(-3000) or ""
  error(("%s to %s: %d calls in %.1f s, the slowest %.3f s, the last answered %s\n%s\n%s")
    :format(method, what, calls, loop.now() - from, slowest, cjson.encode(answer), status, log), 3)
end

-- Waits until the method answers `value`; how long that took.
---@return number
function reload.becomes(there, method, value)
  return ask_until(there, method, function(answer) return answer.result == value end,
    "answer " .. tostring(value))
end

-- Waits until there is no such method.
---@return number
function reload.is_gone(there, method)
  return ask_until(there, method, function(answer)
    return answer.error and answer.error.code == -32601
  end, "go")
end

return reload
