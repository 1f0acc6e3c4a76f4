-- Asks all backends at the same time.
local backends = require "_lib.backends"

-- Any answer will do, "Method not found" too.
local function look(backend)
  local ok, err = pcall(backend.call, backend, "ping", nil, { timeout = 0.5, idempotent = true })
  if ok or (type(err) == "table" and err.code == -32601) then return "up" end
  return "down: " .. (type(err) == "table" and err.message or tostring(err))
end

return function()
  local tasks, report = {}, {}
  for name, backend in pairs(backends) do tasks[name] = rpc.spawn(look, backend) end
  for name, task in pairs(tasks) do report[name] = task:wait() end
  return report
end
