-- SPDX-License-Identifier: MIT
-- The bodies that are posted, and the files from which wrk reads them.
local settings = require "bench.settings"

local calls = {}

function calls.single(method, id)
  return ('{"jsonrpc":"2.0","method":"%s","params":[42,23],"id":%d}')
    :format(method, id)
end

function calls.batch(method, count)
  local list = {}
  for id = 1, count do list[id] = calls.single(method, id) end
  return "[" .. table.concat(list, ",") .. "]"
end

--- The words that make wrk post `body` for some seconds, `depth` at once.
function calls.wrk(url, body, depth, connections, seconds)
  local path = settings.work .. "/body.json"
  local file = assert(io.open(path, "w"))
  file:write(body)
  file:close()
  return { "wrk", "-t1", "-c" .. connections, "-d" .. seconds .. "s", "-s",
    settings.home .. "/requests.lua", url, "--", path, depth }
end

return calls
