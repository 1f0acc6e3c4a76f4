-- A method that passes its params on to a backend, and tells which one it was
-- that can't be reached. What the backend answers goes back as it is.
local backends = require "_lib.backends"

local unreachable = { [-32051] = true, [-32057] = true } -- no answer in time; gone

return function(name, method, options)
  return function(params)
    local ok, result = pcall(backends[name].call, backends[name], method, params, options)
    if ok then return result end
    if type(result) == "table" and unreachable[result.code] then
      rpc.error(-32000, "the " .. name .. " is down", { reason = result.message })
    end
    error(result, 0)
  end
end
