-- The log on stderr: who doesn't read it doesn't hold up the program.
local cjson = require "cjson"
local support = require "support"
local client, conn, wire = support.client, support.conn, support.wire

after_each(support.clean)

local NOISY = { ["init.lua"] = [[
  local M = {}
  function M.log(n) rpc.log.debug(("x"):rep(100), { n = n }) return n end
  function M.shout() rpc.log.info(("y"):rep(3e4)) return true end
  return M]] }
local CALLS, STEP = 5000, 100

-- Serves on stdio:; nobody reads its log until `read_log`.
local function serve_unread(kind, args)
  local self = support.serve(NOISY, { stdin = true, listen = { "stdio:" },
    log = kind, args = args })
  local connection = conn.stdio(self)
  self:ignore_log()
  return self, connection
end

local function call(connection, method, n)
  connection:send(wire.line.wrap(client.request(method, n and ("[%d]"):format(n), n or 0)))
end

local function answer(connection)
  return cjson.decode(wire.line.read(connection)).result
end

local function call_many(connection)
  for first = 1, CALLS, STEP do
    for n = first, first + STEP - 1 do call(connection, "log", n) end
    for n = first, first + STEP - 1 do assert.equal(n, answer(connection)) end
  end
end

describe("a log that nobody reads", function()
  for _, kind in ipairs { "pipe", "socket" } do
    it("in a " .. kind .. " loses lines, and says how many when it is read again", function()
      local self, connection = serve_unread(kind, { "--log", "debug" })
      call_many(connection)
      self:read_log()
      self:wait_log("xxx")
      local calls, dropped = CALLS, 0
      support.loop.wait(function() -- which line is the first that finds room, nobody knows
        calls = calls + 1
        call(connection, "log", calls)
        answer(connection)
        return self.err:find("log lines dropped", 1, true)
          and self.err:find(("n=%d at="):format(calls), 1, true)
      end, nil, function() return "the count in:\n" .. self.err:sub(-2000) end)
      for count in self.err:gmatch("\n[%d:.]+ warn +log lines dropped +count=(%d+)\n") do
        dropped = dropped + tonumber(count)
      end
      local _, said = self.err:gsub("debug x+ +n=%d+ at=init.lua:2\n", "")
      assert.is_true(said > 100, said)
      assert.equal(calls, said + dropped)
    end)
  end

  it("doesn't hold up the program by a line that fits only in part", function()
    local self, connection = serve_unread("pipe", { "--log-format", "json" })
    for _ = 1, 10 do
      call(connection, "shout")
      assert.is_true(answer(connection))
    end
    self:read_log()
    self:wait_log("yyy")
    support.loop.wait(function()
      call(connection, "shout")
      answer(connection)
      return self.err:find('\n{[^\n]*"text":"log lines dropped","count":%d+}\n')
    end, nil, function() return "the count in:\n" .. self.err:sub(-2000) end)
    self.stdin:close()
    assert.equal(0, self:wait_exit())
  end)
end)
