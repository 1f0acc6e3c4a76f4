-- `moonrpc serve`: listeners, logs, settings, host methods.
local cjson = require "cjson"
local uv = require "luv"
local support = require "support"
local client, conn, files, program = support.client, support.conn, support.files, support.program

local METHODS = "tests/spec/methods"
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
