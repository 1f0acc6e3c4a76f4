-- `moonrpc serve`: listeners, signals and drain, logs, settings, host methods.
local cjson = require "cjson"
local uv = require "luv"
local support = require "support"
local conn, files, loop, program = support.conn, support.files, support.loop, support.program
local client, wire = support.client, support.wire

local METHODS = "tests/spec/methods"
local SUBTRACT = '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}'
local ANSWER = '{"jsonrpc":"2.0","result":19,"id":1}'
local TCP = { listen = { "tcp://127.0.0.1:0" } }

local request = client.request

after_each(support.clean)

local function is_serving(self, index)
  assert.equal(19, client.open(self.urls[index or 1]):result("subtract", "[42,23]"))
end

describe("listeners", function()
  it("are announced with their real ports, one line each", function()
    local dir = files.temp()
    local self = support.serve(METHODS, { listen = {
      "http://127.0.0.1:0", "tcp://127.0.0.1:0",
      "unix:" .. dir .. "/a", "http+unix:" .. dir .. "/b",
    } })
    assert.matches("^http://127%.0%.0%.1:[1-9]%d*/?$", self.urls[1])
    assert.matches("^tcp://127%.0%.0%.1:[1-9]%d*$", self.urls[2])
    assert.equal("unix:" .. dir .. "/a", self.urls[3])
    assert.equal("http+unix:" .. dir .. "/b", self.urls[4])
    for i = 1, 4 do is_serving(self, i) end
  end)

  it("take names and IPv6", function()
    is_serving(support.serve(METHODS, { listen = { "http://localhost:0" } }))
    if uv.new_tcp():bind("::1", 0) == 0 then
      is_serving(support.serve(METHODS, { listen = { "http://[::1]:0" } }))
      is_serving(support.serve(METHODS, { listen = { "tcp://[::1]:0" } }))
    end
  end)

  it("on a port that is taken stop the start, with a clear message", function()
    local self = support.serve(METHODS, TCP)
    local code, _, err = program.run { "serve", METHODS, "--listen", self.urls[1] }
    assert.equal(1, code)
    assert.matches(tostring(conn.parse(self.urls[1]).port), err)
    assert.matches("in use", err)
    is_serving(self)
  end)

  describe("on Unix sockets", function()
    local path, options

    before_each(function()
      path = files.temp() .. "/s"
      options = { listen = { "unix:" .. path } }
    end)

    it("are for their owner only", function()
      support.serve(METHODS, options)
      assert.equal(384, uv.fs_stat(path).mode & 511) -- rw-------
    end)

    it("leave no file behind", function()
      local self = support.serve(METHODS, options)
      assert.equal(0, self:stop())
      assert.is_false(files.exists(path))
    end)

    it("replace a stale socket", function()
      local self = support.serve(METHODS, options)
      self:kill("sigkill")
      self:wait_exit()
      assert.is_true(files.exists(path))
      is_serving(support.serve(METHODS, options))
    end)

    it("don't replace a live one", function()
      local self = support.serve(METHODS, options)
      local code, _, err = program.run { "serve", METHODS, "--listen", options.listen[1] }
      assert.equal(1, code)
      assert.is_truthy(err:find(path, 1, true), err)
      is_serving(self)
    end)

    it("don't replace a file", function()
      files.write(path, "precious")
      local code, _, err = program.run { "serve", METHODS, "--listen", options.listen[1] }
      assert.equal(1, code)
      assert.is_truthy(err:find(path, 1, true), err)
      assert.equal("precious", files.read(path))
    end)

    it("in a directory that isn't there stop the start", function()
      local code, _, err = program.run { "serve", METHODS, "--listen", "unix:/nowhere/s" }
      assert.equal(1, code)
      assert.matches("/nowhere/s", err)
    end)
  end)
end)

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
    is_serving(self, 2)
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
    assert.matches("passed its deadline +calls_cut=1\n", self.err)
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
    self:wait_exit(2)
  end)
end)

describe("logs", function()
  local FAILING = { ["init.lua"] = [[
    local M = {}
    function M.boom() error("kaputt") end
    function M.say() rpc.log.info("hello") rpc.log.warn("careful", { a = 1 }) end
    return M]] }

  it("go to stderr, one line an event", function()
    local self = support.serve(FAILING)
    client.open(self.urls[1]):failure("boom")
    assert.matches("boom", (self:wait_log("kaputt")))
    self:stop()
    assert.equal("", self.out)
  end)

  it("are JSON lines where asked for", function()
    local self = support.serve(FAILING, { args = { "--log-format", "json" } })
    client.open(self.urls[1]):failure("boom")
    local line = self:wait_log("kaputt")
    assert.equal("table", type(cjson.decode(line)))
    self:stop()
    for each in self.err:gmatch("[^\n]+") do
      if not each:find("^listening on ") then
        assert.equal("table", type(cjson.decode(each)), each)
      end
    end
  end)

  it("are as quiet as the level says", function()
    local self = support.serve(FAILING, { args = { "--log", "error" } })
    client.open(self.urls[1]):result("say")
    client.open(self.urls[1]):failure("boom")
    self:wait_log("kaputt")
    assert.is_nil(self.err:find("hello"))
    assert.is_nil(self.err:find("careful"))
    self = support.serve(FAILING, { args = { "--log", "info" } })
    client.open(self.urls[1]):result("say")
    self:wait_log("hello")
    self:wait_log("careful")
  end)

  it("hold what a peer sends within one line", function()
    local self = support.serve(FAILING, { dev = true, args = { "--log", "debug" } })
    local connection = client.open(self.urls[1])
    connection:failure("no\nsuch\27[31mmethod")
    connection:failure("boom")
    self:wait_log("kaputt")
    assert.is_nil(self.err:find("\nsuch"))
    assert.is_nil(self.err:find("\27[31m", 1, true))
  end)
end)

describe("the config file", function()
  local function run(text, ...)
    local path = files.temp { ["c.lua"] = text } .. "/c.lua"
    return program.run({ "serve", METHODS, "--config", path, "--listen", "tcp://127.0.0.1:0", ... })
  end

  it("sets listeners, mode and limits", function()
    local socket = files.temp() .. "/s"
    local config = files.temp { ["c.lua"] = ([[return {
      listen = { "http://127.0.0.1:0", "unix:%s" },
      mode = "dev",
      limits = { batch = 2 },
    }]]):format(socket) } .. "/c.lua"
    local self = program.start { "serve", METHODS, "--config", config }
    self:wait_listening(2)
    is_serving(self, 2)
    local there = client.open(self.urls[1])
    assert.is_truthy(there:failure("boom").data)
    assert.matches("batch", there:ask("[1,2,3]"))
  end)

  it("names the directory where the command line doesn't", function()
    local config = files.temp { ["c.lua"] = ([[return {
      methods = "%s/%s", listen = { "tcp://127.0.0.1:0" } }]]):format(uv.cwd(), METHODS) }
    local self = program.start { "serve", "--config", config .. "/c.lua" }
    self:wait_listening(1)
    is_serving(self)
  end)

  it("has the methods beside it where neither names a directory", function()
    local dir = files.temp { ["c.lua"] = 'return { listen = "tcp://127.0.0.1:0" }',
      ["methods/get_data.lua"] = "return function() return { 'hello', 5 } end" }
    for config, cwd in pairs { [dir .. "/c.lua"] = uv.cwd(), ["c.lua"] = dir } do
      local self = program.start({ "serve", "--config", config }, { cwd = cwd,
        path = uv.fs_realpath(program.path) })
      self:wait_listening(1)
      assert.same({ "hello", 5 }, client.open(self.urls[1]):result("get_data"))
    end
  end)

  it("is told with the key where its directory of methods is missing", function()
    for text, said in pairs {
      ["return { methods = 'nowhere' }"] = "methods: %s/nowhere: No such file or directory",
      ["return { methods = 'c.lua' }"] = "methods: %s/c.lua: it is no directory",
      ["return {}"] = "methods, by default: %s/methods: No such file or directory",
    } do
      local dir = files.temp { ["c.lua"] = text }
      local code, _, err = program.run { "serve", "--config", dir .. "/c.lua" }
      assert.equal(1, code)
      assert.equal(("moonrpc serve: %s/c.lua: " .. said .. "\n"):format(dir, dir), err)
    end
  end)

  it("may refuse ids that are in flight, compared by type and value", function()
    local self = support.serve(METHODS, { listen = TCP.listen,
      config = '{ duplicate_ids = "reject" }' })
    local connection = conn.open(self.urls[1])
    for _, id in ipairs { "1", '"a"', '"2"' } do
      connection:send(request("wait", '["d"]', id) .. "\n")
    end
    for _, id in ipairs { "1", "1.0", "10e-1", '"a"', '"\\u0061"' } do
      connection:send(request("get_data", nil, id) .. "\n")
      local answer = connection:line()
      assert.matches("%-32600", answer)
      assert.is_truthy(answer:find('"id":' .. id .. "}", 1, true), answer)
    end
    for _, id in ipairs { '"1"', "2", '"A"', "null" } do
      connection:send(request("get_data", nil, id) .. "\n")
      assert.matches("hello", connection:line())
    end
    connection:reset()
  end)

  it("names the nearest key for one that it doesn't know", function()
    for text, right in pairs {
      ["return { limts = {} }"] = "limits",
      ["return { limits = { mesage = 1 } }"] = "message",
      ["return { http = { origin = {} } }"] = "origins",
      ["return { modus = 'dev' }"] = "mode",
    } do
      local code, _, err = run(text)
      assert.equal(2, code, err)
      assert.is_truthy(err:find(right, 1, true), err)
    end
  end)

  it("must be right", function()
    for _, text in ipairs {
      "return {", "return 1", "error('x')", "return { limits = { message = 'big' } }",
      "return { limits = { batch = -1 } }", "return { mode = 'fast' }", "return { listen = 5 }",
    } do
      local code, _, err = run(text)
      assert.equal(2, code, text .. ": " .. err)
      assert.is_truthy(err:find("c.lua", 1, true), err)
    end
  end)

  it("must be there", function()
    local code, _, err = program.run { "serve", METHODS, "--config", "/nowhere.lua" }
    assert.equal(2, code)
    assert.matches("/nowhere.lua", err)
  end)
end)

describe("the host's own methods", function()
  local NAMES = { "rpc.discover", "rpc.status", "rpc.reload" }

  it("are there in dev mode", function()
    local there = client.open(support.serve(METHODS, { dev = true }).urls[1])
    local text = there:raw("rpc.discover")
    for _, word in ipairs { '"subtract"', '"minuend"', '"subtrahend"', '"echo"' } do
      assert.is_truthy(text:find(word, 1, true), text)
    end
    assert.equal("table", type(there:result("rpc.status")))
    there:result("rpc.reload")
  end)

  it("are nobody's business in production", function()
    local self = support.serve(METHODS, { listen = { "http://127.0.0.1:0", "tcp://127.0.0.1:0" } })
    for i = 1, 2 do
      for _, name in ipairs(NAMES) do
        assert.equal(-32601, client.open(self.urls[i]):failure(name).code)
      end
    end
  end)

  it("are there where the config file says so", function()
    local there = support.serve_client(METHODS, { config = "{ admin = true }" })
    for _, name in ipairs(NAMES) do there:result(name) end
  end)

  it("are there for the owner of a Unix socket", function()
    local dir = files.temp()
    local self = support.serve(METHODS,
      { listen = { "unix:" .. dir .. "/a", "http+unix:" .. dir .. "/b" } })
    for i = 1, 2 do
      for _, name in ipairs(NAMES) do client.open(self.urls[i]):result(name) end
    end
  end)
end)
