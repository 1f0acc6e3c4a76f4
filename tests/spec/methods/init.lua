-- The methods that dialogues speak to. tests/unit/tool_dialogue.c has the same
-- in C.
local M = {}

function M.subtract(minuend, subtrahend)
  return minuend - subtrahend
end

function M.sum(...)
  local total = 0
  for _, number in ipairs { ... } do total = total + number end
  return total
end

function M.update(...) end

function M.notify_hello(...) end

function M.get_data()
  return { "hello", 5 }
end

function M.echo(params)
  return params
end

function M.fail(code, message, data)
  rpc.error(code, message, data)
end

function M.boom()
  error("a fault that the caller must not see")
end

-- wait(name) ends when release(name) is called; each release lets one wait go,
-- be it there already or not.
local waiting, released = {}, {}

function M.wait(name)
  if released[name] then
    released[name] = nil
  else
    rpc.await(function(done) waiting[name] = done end)
  end
  return name
end

function M.release(name)
  local done = waiting[name]
  waiting[name] = nil
  if done then done() else released[name] = true end
  return true
end

-- These speak to their caller: a call, a notification, progress.

function M.ask(method, params)
  return rpc.peer():call(method, params)
end

function M.tell(method, params)
  rpc.peer():notify(method, params)
  return true
end

function M.progress(params)
  return rpc.progress(params.value) or false
end

return M
