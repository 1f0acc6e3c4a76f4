-- What the program says when something is wrong: the words that help.
local support = require "support"
local client, files, program = support.client, support.files, support.program

local METHODS = "tests/spec/methods"

after_each(support.clean)

-- Expects that `text` holds each of the words.
local function holds(text, ...)
  for _, word in ipairs { ... } do
    assert.is_truthy(text:find(word, 1, true), ("%q in:\n%s"):format(word, text))
  end
end

describe("a fault in the config file", function()
  local function refuse(text)
    local path = files.temp { ["c.lua"] = text } .. "/c.lua"
    local code, _, err = program.run { "serve", METHODS, "--config", path }
    assert.equal(2, code, err)
    return err, path
  end

  it("is told with file and key, and without a word on usage", function()
    local err, path = refuse "return { http = { path = 'rpc' } }"
    assert.equal(("moonrpc serve: %s: http.path must begin with \"/\"\n"):format(path), err)
    err, path = refuse "return { listen = 'localhost:4000' }"
    holds(err, path .. ": listen: \"localhost:4000\": a URL must begin with http://")
  end)
end)

describe("a load that fails", function()
  it("says what is served meanwhile", function()
    local dir = files.temp { ["a.lua"] = "return {" }
    local self = support.serve(dir, { watch = true })
    assert.matches("a.lua:1.*serving=nothing", (self:wait_log("load failed")))
    files.write(dir .. "/a.lua", "return function() return 1 end")
    self:wait_log("loaded  generation=1")
    files.write(dir .. "/a.lua", "return 1 +")
    local line = self:wait_log("load failed", nil, (select(2, self:wait_log("loaded"))))
    assert.matches('serving="generation 1"', line)
  end)
end)

describe("a log line", function()
  local METHODS_THAT_LOG = { ["say.lua"] = [[
    return function()
      rpc.log.info("hello", { list = { 1, { a = true } }, plain = "x", n = 1.5, f = print,
        null = rpc.null, none = {} })
    end]] }

  it("holds nested tables as JSON", function()
    local self = support.serve(METHODS_THAT_LOG)
    client.open(self.urls[1]):result("say")
    local line = self:wait_log("hello")
    holds(line, [[list="[1,{\"a\":true}]"]], "plain=x", "n=1.5", "null=null", "none={}",
      "f=\"function: ")
  end)

  it("holds numbers as numbers where it is JSON", function()
    local self = support.serve(METHODS_THAT_LOG, { args = { "--log-format", "json" } })
    client.open(self.urls[1]):result("say")
    holds(self:wait_log('"text":"loaded"'), '"generation":1,', '"methods":1,')
    holds(self:wait_log("hello"), '"n":1.5', '"plain":"x"')
  end)
end)

describe("an error that is no proper one", function()
  local RAISING = { ["init.lua"] = [[
    local M = {}
    function M.bare() error { message = "no money" } end
    function M.text() error { code = "E1", message = "no money" } end
    function M.none() error(nil) end
    return M]] }

  it("is told with its message and what is wrong with it", function()
    local self = support.serve(RAISING, { dev = true })
    local there = client.open(self.urls[1])
    for _, name in ipairs { "bare", "text" } do
      local failure = there:failure(name)
      assert.equal(-32603, failure.code)
      assert.equal("no money (an error object needs an integer code and a string message)",
        failure.data.message)
    end
    assert.equal("nil error value", there:failure("none").data.message)
    self:wait_log("nil error value")
  end)
end)
