-- The servers behind this one, each on a transport of its own. `retry` lets us
-- start while one of them is down; calls to it wait for a second, then fail. By
-- `backoff_max` it is tried within that second, however long it has been down.
local function connect(name, url)
  return rpc.connect(os.getenv(name) or url, { retry = true, timeout = 1, backoff_max = 0.5 })
end

return {
  calculator = connect("CALCULATOR", "http://127.0.0.1:4001"),
  greeter = connect("GREETER", "exec:moonrpc serve examples/hello --listen stdio:"),
  counter = connect("COUNTER", "unix:/tmp/counter.sock"),
}
