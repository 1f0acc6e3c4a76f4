-- rpc.connect: what is said, and logged, of servers that can't be spoken to.
local uv = require "luv"
local support = require "support"
local files, loop = support.files, support.loop
local side = require "support.front"
local front, run, try = side.front, side.run, side.try

local function serve(url)
  return support.serve(side.BACKEND, { listen = { url } })
end

local function address()
  return "unix:" .. files.temp() .. "/s"
end

-- A server that says the same to all: its address, and a function that ends it.
local function answering(text)
  local server, open = uv.new_tcp(), {}
  server:bind("127.0.0.1", 0)
  server:listen(16, function()
    local tcp = uv.new_tcp()
    server:accept(tcp)
    open[#open + 1] = tcp
    local is_asked
    tcp:read_start(function(_, bytes)
      if bytes and not is_asked then tcp:write(text) end
      is_asked = true
    end)
  end)
  return "127.0.0.1:" .. server:getsockname().port, function()
    for _, tcp in ipairs(open) do tcp:close() end
    server:close()
  end
end

describe("rpc.connect", function()
  after_each(support.clean)

  it("says why the first connection, or a call, found no understanding", function()
    local upgrade = "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
    local self = front(serve(address()).urls[1])
    for _, case in ipairs {
      { "ws://%s", "HTTP/1.1 401 Unauthorized\r\n\r\n401 who are you?\r\n",
        "the server refused the upgrade, status 401: who are you?" },
      { "ws://%s", "HTTP/1.1 404 Not Found\r\n\r\n<html>",
        "the server refused the upgrade, status 404" },
      { "ws://%s", "HTTP/1.1 426 Upgrade Required\r\n\r\n",
        "the server refused the upgrade, status 426" },
      { "ws://%s", "HTTP/1.1 200 OK\r\n\r\nhello",
        "the server refused the upgrade, status 200: hello" },
      { "ws://%s", upgrade .. "Sec-WebSocket-Accept: x\r\n\r\n",
        "the server's handshake isn't WebSocket's" },
      { "ws://%s", "SSH-2.0\r\n\r\n", "the answer isn't HTTP/1.1" },
      { "http://%s", "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno",
        "the server refused the request, status 403: no" },
      { "http://%s", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhm", "the answer isn't JSON" },
      { "tcp://%s", "hello\n", "the first line isn't JSON" },
      { "tcp://%s?framing=header", "Content-Length: ten\r\n\r\n",
        "Content-Length isn't a number" },
    } do
      local place, stop = answering(case[2])
      local url = case[1]:format(place)
      local code = case[1]:find("ws") and "rpc.connect(%q)" or "rpc.connect(%q):call('add')"
      assert.same({ code = -32057, message = "The peer went away: " .. case[3] },
        try(self, code:format(url)), url)
      stop()
    end
  end)

  it("waits for a WebSocket's handshake, not for ever", function()
    local place, stop = answering("")
    local self = front(serve(address()).urls[1])
    local from = loop.now()
    assert.equal("The peer went away: no connection in time",
      try(self, ("rpc.connect('ws://%s', { connect_timeout = 0.2 })"):format(place)).message)
    assert.is_true(loop.now() - from < 2, tostring(loop.now() - from))
    stop()
  end)

  it("logs an outage once, however many calls and tries fail in it", function()
    local refusing, stop = answering("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno")
    local unix = address()
    local options = "{ retry = true, timeout = 0.3, backoff_min = 0.01, backoff_max = 0.02 }"
    for url, reason in pairs { ["ws://" .. refusing] = "status 401", [unix] = "no such file",
      ["exec:false"] = "exited with status 1", ["http://" .. refusing] = "status 401" } do
      local self = front(url, options)
      for _ = 1, 5 do
        self.client:failure("do", '["return c:call(\'add\', { 1, 2 })"]')
        self.client:failure("do", '["local sum = c:call(\'add\', { 1, 2 }) return sum"]')
      end
      run(self, "rpc.spawn(function() c:call('add') end) rpc.sleep(0.4)")
      local lines = {}
      for line in self.err:gmatch("[^\n]+") do
        if line:find(" warn ") or line:find(" error ") or line:find("broken off") then
          lines[#lines + 1] = line
        end
      end
      assert.equal(1, #lines, table.concat(lines, "\n"))
      assert.matches(reason, lines[1], 1, true)
    end
    stop()
    local self = front(unix, options)
    self:wait_log("can't connect, trying again")
    local backend = serve(unix)
    run(self, "return c:call('add', { 1, 1 }, { timeout = 10 })")
    local _, past = self:wait_log("connection is back")
    backend:kill("sigkill")
    self:wait_log("connection lost", nil, past)
  end)
end)
