-- The end of `moonrpc serve`: SIGTERM and SIGINT, rpc.exit, and what the log says.
local cjson = require "cjson"
local support = require "support"
local conn, loop = support.conn, support.loop
local client, wire = support.client, support.wire

local METHODS = "tests/spec/methods"
local SUBTRACT = '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}'
local ANSWER = '{"jsonrpc":"2.0","result":19,"id":1}'
local TCP = { listen = { "tcp://127.0.0.1:0" } }

local request = client.request

after_each(support.clean)

describe("a drain", function()
  -- A server on TCP and HTTP with a call in flight on TCP.
  local function start(options)
    local self = support.serve(METHODS, {
      listen = { "tcp://127.0.0.1:0", "http://127.0.0.1:0" },
      args = options and options.args,
    })
    local connection = conn.open(self.urls[1])
    connection:send(request("wait", '["x"]', 7) .. "\n" .. SUBTRACT .. "\n")
    assert.equal(ANSWER, connection:line())
    return self, connection
  end

  -- Waits until new connections are refused.
  local function wait_refused(url)
    loop.wait(function()
      local ok, refused = pcall(conn.open, url)
      if ok then refused:close() end
      return not ok
    end, nil, "refused connections")
  end

  for _, signal in ipairs { "sigterm", "sigint" } do
    it("by " .. signal .. " ends an idle program at once, with exit code 0", function()
      local self = support.serve(METHODS)
      local idle = conn.open(self.urls[1])
      self:kill(signal)
      assert.same({ 0, 0 }, { self:wait_exit(5) })
      assert.equal("", idle:rest())
      assert.matches("info +draining +calls=0 connections=1\n.* drained +ms=%d+\n", self.err)
    end)
  end

  it("lets calls in flight finish, and takes no new ones", function()
    local self, connection = start()
    self:kill()
    wait_refused(self.urls[1])
    connection:send(request("subtract", "[2,1]", 10) .. "\n")
    assert.matches("%-32054", connection:line())
    assert.is_nil(self.code)
    connection:reset()
    assert.equal(0, (self:wait_exit()))
    assert.is_nil(self.err:find("cut", 1, true))
  end)

  it("is told when it begins, with what it waits for, and when it has ended", function()
    local self, connection = start { args = { "--log-format", "json" } }
    local idle = client.open(self.urls[2])
    assert.equal(19, idle:result("subtract", "[42,23]"))
    self:kill()
    local begin = cjson.decode((self:wait_log('"draining"')))
    assert.same({ "info", 1, 2 }, { begin.level, begin.calls, begin.connections })
    assert.is_nil(self.err:find('"drained"', 1, true))
    connection:reset()
    assert.equal(0, (self:wait_exit()))
    local last = cjson.decode(self.err:match("([^\n]+)\n$"))
    assert.same({ "info", "drained" }, { last.level, last.text })
    assert.is_true(last.ms >= 0)
  end)

  it("that nobody has asked for is not told", function()
    local self = support.serve(METHODS, { listen = { "stdio:" }, stdin = true })
    self.stdin:shutdown()
    assert.equal(0, (self:wait_exit()))
    assert.is_nil(self.err:find("drain", 1, true))
  end)

  it("writes the last answer before the end", function()
    local self = support.serve({ ["slow.lua"] = [[
      return function() rpc.sleep(0.3) return ("x"):rep(1000000) end]] },
      { listen = { "tcp://127.0.0.1:0", "http://127.0.0.1:0" } })
    local tcp = conn.open(self.urls[1]):send(request("slow", nil, 1) .. "\n")
    local http = conn.open(self.urls[2]):send(wire.http.wrap(request("slow", nil, 1)))
    loop.pass(0.1)
    self:kill()
    assert.equal(1000036, #tcp:line())
    local response = wire.http.read(http)
    assert.equal(1000036, #response.body)
    assert.equal("close", response.headers.connection:lower())
    assert.equal("", tcp:rest() .. http:rest())
    assert.equal(0, (self:wait_exit()))
  end)

  it("answers 503 to a request whose end comes too late", function()
    local self, busy = start()
    local bytes = wire.http.wrap(SUBTRACT)
    local late = conn.open(self.urls[2]):send(bytes:sub(1, 20))
    client.open(self.urls[2]):result("get_data")
    self:kill()
    wait_refused(self.urls[2])
    late:send(bytes:sub(21))
    assert.equal(503, wire.http.read(late).status)
    assert.equal("", late:rest())
    busy:reset()
    assert.equal(0, (self:wait_exit()))
  end)

  it("ends at its deadline", function()
    local self, connection = start { args = { "--drain", "0.3" } }
    local from = loop.now()
    self:kill()
    assert.equal(1, (self:wait_exit(5)))
    assert.is_true(loop.now() - from >= 0.25)
    assert.matches("warn +the drain has passed its deadline +ms=%d+ calls_cut=1\n", self.err)
    assert.is_nil(self.err:find("drained", 1, true))
    connection:rest()
  end)

  describe("by rpc.exit", function()
    local EXIT = { ["init.lua"] = [[
      local done
      local M = {}
      function M.wait() return rpc.await(function(resume) done = resume end) end
      function M.exit(code)
        rpc.exit(code)
        rpc.after(0.1, function() if done then done("waited") end end)
        return "bye"
      end
      return M]] }

    it("answers the calls in flight, then ends with the code that it gave", function()
      local self = support.serve(EXIT, TCP)
      local connection = conn.open(self.urls[1])
      connection:send(request("wait", nil, 1) .. "\n" .. request("exit", "[7]", 2) .. "\n")
      assert.matches('"bye","id":2', connection:line())
      assert.matches('"waited","id":1', connection:line())
      assert.equal("", connection:rest())
      assert.equal(7, (self:wait_exit()))
    end)

    it("ends well where it gives no code", function()
      local self = support.serve(EXIT, TCP)
      conn.open(self.urls[1]):send(request("exit", nil, 2) .. "\n")
      assert.equal(0, (self:wait_exit()))
    end)

    it("takes codes of the system only", function()
      local self = support.serve(EXIT, { listen = TCP.listen, args = { "--dev" } })
      local one = client.open(self.urls[1])
      assert.matches("not within 0 and 255", one:failure("exit", "[256]").data.message)
      assert.matches("not within 0 and 255", one:failure("exit", "[-1]").data.message)
      assert.is_nil(self.code)
    end)

    it("ends a conversation on stdio though its other side goes on", function()
      local self = support.serve(EXIT, { listen = { "stdio:" }, stdin = true })
      self.stdin:write(request("exit", "[3]") .. "\n")
      assert.equal(3, (self:wait_exit()))
    end)
  end)

  it("ends at once by a second signal", function()
    local self = start()
    self:kill()
    wait_refused(self.urls[1])
    self:kill()
    assert.equal(1, (self:wait_exit(2)))
    assert.matches("warn +the drain was broken off +ms=%d+ calls_cut=1\n", self.err)
    assert.is_nil(self.err:find("drained", 1, true))
  end)
end)
