-- The script that wrk runs: wrk -s requests.lua URL -- FILE DEPTH posts the
-- body in FILE, DEPTH requests in one write, and prints figures as key=value.
local requests

function init(args)
  local file = assert(io.open(args[1], "rb"))
  local body = file:read("*a")
  file:close()
  wrk.headers["Content-Type"] = "application/json"
  requests = wrk.format("POST", nil, nil, body):rep(tonumber(args[2]))
end

function request()
  return requests
end

function done(summary)
  local e = summary.errors
  io.write(("\nrequests=%d seconds=%.6f bytes=%d errors=%d\n"):format(
    summary.requests, summary.duration / 1e6, summary.bytes,
    e.connect + e.read + e.write + e.status + e.timeout))
end
