-- A host whose script calls another: what specs of rpc.connect stand on.
local support = require "support"
local json = require "cjson"
local client = support.client

local M = {}

local PATIENT = { config = "{ limits = { wait = 10 } }" }

-- The servers. `hits` counts calls in a file, so that it survives a kill -9.
M.BACKEND = { ["init.lua"] = [[
  local uv = require "luv"
  local dir = os.getenv "HITS"
  local M = {}
  function M.add(a, b) return a + b end
  function M.pid() return uv.os_getpid() end
  local running, most = 0, 0
  function M.most() return most end
  function M.sleep(seconds, tag)
    running = running + 1
    most = math.max(most, running)
    local ok, err = pcall(rpc.sleep, seconds)
    running = running - 1
    if ok then return tag end
    rpc.log.info(err == rpc.cancelled and "cancelled" or "not cancelled", { tag = tag })
    error(err, 0)
  end
  function M.echo(params) return params end
  function M.back(method, params) return rpc.peer():call(method, params) end
  function M.fail(code, message) rpc.error(code, message) end
  function M.hit(name)
    local file = io.open(dir .. "/" .. name, "a")
    file:write("x")
    file:close()
    rpc.log.info("hit")
    rpc.sleep(30)
  end
  return M
]] }

-- A front whose method `do` runs Lua code with the client `c` at hand, so that
-- each test reads as what a script does.
function M.front(url, options, more)
  local tree = { ["init.lua"] = ([[
    local c = rpc.connect(os.getenv "URL", %s)
    rpc.method("double", function(x) return x * 2 end)
    rpc.method("do", function(code)
      local fn = assert(load("local c = ... " .. code, "=code"))
      return fn(c)
    end)
    rpc.method("try", function(code)
      local fn = assert(load("local c = ... " .. code, "=code"))
      local ok, err = pcall(fn, c)
      if ok then return { ok = true } end
      if type(err) ~= "table" then return { message = err } end
      return { code = err.code, message = err.message }
    end)
  ]]):format(options or "nil") }
  for name, text in pairs(more or {}) do tree[name] = text end
  local self = support.serve(tree, { listen = { "tcp://127.0.0.1:0" }, env = { URL = url },
    config = PATIENT.config, watch = true })
  -- A program that it starts may say the same on its stderr.
  self.url = self:wait_log("^listening on tcp"):match("tcp:%S+")
  self.client = client.open(self.url)
  return self
end

function M.run(self, code)
  return self.client:result("do", json.encode { code })
end

function M.try(self, code)
  return self.client:result("try", json.encode { code })
end

-- Sends a call that is answered later: a function that waits for the answer.
function M.later(self, method, code)
  local connection = client.open(self.url)
  connection.session:send(client.request(method, json.encode { code }, 1))
  return function() return json.decode(connection.session:next()) end
end

return M
