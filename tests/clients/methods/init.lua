-- The methods that clients call when both sides call each other.
local M = {}

function M.subtract(minuend, subtrahend) return minuend - subtrahend end

function M.echo(params) return params end

function M.fail(code, message, data) rpc.error(code, message, data) end

-- Calls the caller back, and answers what came.
function M.ask(method, params, timeout)
  return rpc.peer():call(method, params, { timeout = timeout })
end

-- Both sides call each other `n` times before one answers.
function M.ping(n)
  if n == 0 then return "the bottom" end
  return rpc.peer():call("ping", { n - 1 })
end

function M.tell(method, params) rpc.peer():notify(method, params) end

-- Notifications that came, for those who ask.
function M.note(text)
  local data = rpc.peer().data
  data.notes = data.notes or rpc.array {}
  table.insert(data.notes, text)
end

function M.notes() return rpc.peer().data.notes or rpc.array {} end

-- Tells that it waits, and waits until it is cancelled.
function M.hold()
  local data = rpc.peer().data
  local _ <close> = setmetatable({}, { __close = function(_, err)
    if err == rpc.cancelled then data.cancelled = (data.cancelled or 0) + 1 end
  end })
  rpc.peer():notify("held")
  rpc.await(function() end)
end

function M.cancelled() return rpc.peer().data.cancelled or 0 end

-- Says how far it is on its way to `to`.
function M.count(params)
  for i = 1, params.to do
    rpc.progress { done = i }
    rpc.sleep(0)
  end
  return "counted"
end

-- What scripts see of the caller.
function M.who()
  local peer = rpc.peer()
  return { transport = peer.transport, address = peer.address, size = peer.headers["x-shoe-size"] }
end

function M.leave(reason) rpc.peer():close(reason) end

return M
