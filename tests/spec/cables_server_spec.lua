-- Pulling cables: a host calls a server that dies, stands still, and comes back.
local cjson = require "cjson"
local support = require "support"
local cables = require "support.cables"
local client, loop = support.client, support.loop
local SERVICE, HALF_CLOSED, counts = cables.SERVICE, cables.HALF_CLOSED, cables.counts
local counters = cables.counters
local request = client.request

after_each(support.clean)

describe("a host whose server", function()
  local FRONT = { ["init.lua"] = [[
    local s = rpc.state("front")
    s.begun, s.ended = 0, 0
    local function guard()
      s.begun = s.begun + 1
      return setmetatable({}, { __close = function() s.ended = s.ended + 1 end })
    end
    local c = rpc.connect(os.getenv "URL", { backoff_max = 0.2 })
    local M = {}
    function M.call(method, params, timeout)
      local _ <close> = guard()
      return c:call(method, params, { timeout = timeout or 100 })
    end
    function M.again(method, params)
      local _ <close> = guard()
      return c:call(method, params, { idempotent = true, timeout = 10 })
    end
    function M.question(_)
      local _ <close> = guard()
      rpc.sleep(100)
    end
    function M.counts() return { s.begun, s.ended } end
    return M]] }

  -- Servers by their address; `client`: how clients name it.
  local SERVERS = {
    { url = "tcp://127.0.0.1:0" },
    { url = "unix:DIR/s" },
    { url = "http://127.0.0.1:0", one_way = true },
    { url = "http+unix:DIR/h", one_way = true },
    { url = "http://127.0.0.1:0", from = "^http", to = "ws" },
    { url = "http+unix:DIR/w", from = "^http", to = "ws" },
  }

  local function begin(kind)
    local self = { dir = support.files.temp() }
    function self.serve(url)
      self.server = support.serve(SERVICE, { dev = true, listen = { url,
        "unix:" .. self.dir .. "/watcher" } })
      self.watcher = client.open(self.server.urls[2])
      self.observer = self.watcher -- for counts
    end
    self.serve((kind.url:gsub("DIR", self.dir)))
    self.url = self.server.urls[1]
    local url = kind.from and self.url:gsub(kind.from, kind.to) or self.url
    self.front = support.serve(FRONT, { dev = true, env = { URL = url },
      config = ("{ limits = { half_closed = %g } }"):format(HALF_CLOSED),
      listen = { "unix:" .. self.dir .. "/front" } })
    self.there = client.open(self.front.urls[1])
    assert.equal(7, self.there:result("again", '["cable.echo",[7]]'))
    self.files = self.front:descriptors()
    return self
  end

  local function later(self, method, params)
    local there = client.open(self.front.urls[1])
    there.session:send(request(method, params, 1))
    return function()
      local answer = cjson.decode(there.session:next())
      there:close()
      return answer
    end
  end

  -- Nothing is left in the front once its server is there again.
  local function is_whole(self)
    assert.equal(7, self.there:result("again", '["cable.echo",[7]]'))
    loop.poll(function()
      local counted = self.there:result("counts")
      local now = self.there:result("rpc.status").counters
      return counted[1] == counted[2] and now.in_flight == 1 and now.pending == 0
        and self.front:descriptors() == self.files
    end, nil, function()
      return ("the front to be as before: %s, %d of %d descriptors, %s\n%s"):format(
        cjson.encode(self.there:result("counts")), self.front:descriptors(), self.files,
        cjson.encode(self.there:result("rpc.status").counters), self.front.err)
    end)
  end

  local function kill(self)
    self.watcher:close()
    self.server:kill("sigkill")
    self.server:wait_exit()
  end

  for _, kind in ipairs(SERVERS) do
    local name = kind.url:gsub(kind.from or "^$", kind.to or "")

    it("is killed ends the calls to it, and comes back: " .. name, function()
      local self = begin(kind)
      -- While nothing is said.
      kill(self)
      self.serve(self.url)
      is_whole(self)
      -- While calls to it wait.
      local waits = {}
      for i = 1, 5 do waits[i] = later(self, "call", '["cable.doze"]') end
      loop.poll(function() return (counts(self)) == 5 end, nil, "the calls to begin")
      kill(self)
      for i = 1, 5 do assert.equal(-32057, waits[i]().error.code) end
      self.serve(self.url)
      is_whole(self)
      -- While its calls wait for calls of ours that wait for it.
      if not kind.one_way then
        local wait = later(self, "call", '["cable.ask"]')
        loop.poll(function() return counters(self).pending == 1 end, nil, "its call")
        kill(self)
        assert.equal(-32057, wait().error.code)
        self.serve(self.url)
        is_whole(self)
      end
      -- While a large answer is on its way.
      local wait = later(self, "call", '["cable.big",[12000000]]')
      loop.poll(function() return (counts(self)) == 1 end, nil, "the call to begin")
      kill(self)
      local answer = wait()
      assert.is_true(answer.result and #answer.result == 12000000 or answer.error.code == -32057)
      self.serve(self.url)
      is_whole(self)
    end)

    it("stands still is waited for as long as is said: " .. name, function()
      local self = begin(kind)
      self.server:kill("sigstop")
      for i = 1, 3 do
        local answer = self.there:call("call", ('["cable.echo",[%d],0.2]'):format(i))
        assert.equal(-32051, answer.error.code)
      end
      local wait = later(self, "call", '["cable.echo",["at last"],20]')
      self.server:kill("sigcont")
      assert.equal("at last", wait().result)
      is_whole(self)
      -- What was given up over HTTP may have left its connection to be closed.
      assert.equal(7, self.there:result("call", '["cable.echo",[7]]'))
    end)

    it("drains is left, and found again: " .. name, function()
      local self = begin(kind)
      self.watcher:close()
      assert.equal(0, self.server:stop())
      self.serve(self.url)
      is_whole(self)
    end)
  end
end)
