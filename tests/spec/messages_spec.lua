-- What the program says when something is wrong: the words that help.
local support = require "support"
local client, conn, files, program = support.client, support.conn, support.files, support.program

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

describe("a method that isn't there", function()
  local MATH = { ["math.lua"] = "return { subtract = function(a, b) return a - b end }" }

  it("is told with the one that was meant, in dev mode", function()
    local there = support.serve_client(MATH, { dev = true })
    assert.same({ code = -32601, message = "Method not found",
      data = 'no method "math.substract", the nearest is "math.subtract"' },
      there:failure("math.substract"))
    assert.equal('no method "something else"', there:failure("something else").data)
    local long = ("x"):rep(100000) .. "\"é"
    assert.equal('no method "' .. long .. '"', there:failure(long).data)
    assert.equal(1, there:result("math.subtract", "[3,2]"))
  end)

  it("is told without it in production, where the log knows it", function()
    local there, self = support.serve_client(MATH, { args = { "--log", "debug" } })
    assert.same({ code = -32601, message = "Method not found" }, there:failure("math.substract"))
    holds(self:wait_log("request refused"), [[no method \"math.substract\", the nearest is]])
  end)

  it("is told with why there are none", function()
    local dir = files.temp { ["a.lua"] = "return {" }
    local self = support.serve(dir, { watch = true, dev = true })
    local there = client.open(self.urls[1])
    assert.matches("^nothing is loaded: a.lua:1: ", there:failure("a").data)
    files.write(dir .. "/a.lua", "return function() return 1 end")
    self:wait_log("loaded  generation=1")
    assert.equal(1, there:result("a"))
    assert.equal('no method "xyzzy"', there:failure("xyzzy").data)
    files.write(dir .. "/a.lua", "return")
    self:wait_log("loaded  generation=2")
    assert.equal("no methods are loaded", there:failure("a").data)
  end)
end)

describe("a notification that fails", function()
  it("is told of in the log, since nobody else hears of it", function()
    local there, self = support.serve_client { ["a.lua"] = [[
      return { meant = function() rpc.error(-32010, "no such user") end, one = function() end }]] }
    there.session:send(client.request("a.meant"))
    holds(self:wait_log("notification failed"), "info  ", "method=a.meant", "code=-32010",
      [[error="no such user"]])
    there.session:send(client.request("a.one", "[1]"))
    holds(self:wait_log("method=a.one"), "info  notification failed", "code=-32602",
      "the method takes none, not 1")
    there:failure("a.meant")
    there:result("a.one")
    local _, count = self.err:gsub("notification failed", "")
    assert.equal(2, count)
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

describe("a slip on the command line", function()
  local function told(...)
    local code, out, err = program.run { ... }
    assert.same({ 2, "" }, { code, out })
    return err
  end

  it("is told with the nearest word, where there is one", function()
    holds(told("srve", METHODS), "there is no command srve; the nearest is serve\n")
    holds(told("serve", METHODS, "--listn", "stdio:"), "option --listn; the nearest is --listen\n")
    holds(told("serve", METHODS, "--listn=stdio:"), "; the nearest is --listen\n")
    holds(told("frobnicate"), "there is no command frobnicate\n")
    holds(told("serve", METHODS, "--frobnicate"), "there is no option --frobnicate\n")
  end)

  it("is told with what was given", function()
    holds(told("serve", METHODS, "--dev=yes"), "--dev takes no value\n")
    holds(told("serve", METHODS, "--log", "loud"), "debug, not loud\n")
    holds(told("serve", METHODS, "--log-format", "xml"), "json, not xml\n")
    holds(told("serve", METHODS, "--listen", "http://127.0.0.1:0?framing=line"),
      'http has no option "framing"')
  end)
end)

describe("arguments of which some have names", function()
  it("are told with the two that don't go together, and the way out", function()
    for _, command in ipairs { "call", "bench", "listen" } do
      local url = command == "listen" and "tcp://127.0.0.1:1" or "http://127.0.0.1:1"
      local code, _, err = program.run { command, url, "m", "1", "lua", "x=2" }
      assert.equal(2, code)
      holds(err, "all arguments have names or none has: x=2 does, 1 doesn't; "
        .. [[the string is written '"x=2"']])
    end
  end)

  it("may hold an equals sign all the same", function()
    local self = support.serve(METHODS)
    local _, out = program.run { "call", self.urls[1], "echo", "lua", '"x=2"', "[1" }
    assert.equal('["lua","x=2","[1"]\n', out)
    local _, help = program.run { "call", "--help" }
    holds(help, [['"x=2"']], "'[1'")
  end)
end)

describe("moonrpc help", function()
  it("is there for -h too", function()
    for _, command in ipairs { "serve", "call", "listen", "bench", "check", "methods", "status" } do
      local _, shown = program.run { command, "--help" }
      assert.same({ 0, shown, "" }, { program.run { command, "-h" } }, command)
    end
    local _, shown = program.run { "--help" }
    assert.same({ 0, shown, "" }, { program.run { "-h" } })
    local self = support.serve(METHODS)
    local _, out = program.run { "call", self.urls[1], "echo", "-h" }
    assert.equal('["-h"]\n', out)
  end)

  it("shows a command's help", function()
    local _, shown = program.run { "serve", "--help" }
    assert.same({ 0, shown, "" }, { program.run { "help", "serve" } })
    local code, _, err = program.run { "help", "srve" }
    assert.equal(2, code)
    holds(err, "the nearest is serve")
  end)
end)

describe("a hint", function()
  it("shows how to get a free port", function()
    for _, scheme in ipairs { "http", "tcp" } do
      local self = support.serve(METHODS, { listen = { scheme .. "://127.0.0.1:0" } })
      local code, _, err = program.run { "serve", METHODS, "--listen", self.urls[1] }
      assert.equal(1, code)
      holds(err, "in use", ("--listen %s://127.0.0.1:0 takes a free port\n"):format(scheme))
    end
  end)

  it("shows why a server doesn't tell its methods", function()
    local code, _, err = program.run { "methods", support.serve(METHODS).urls[1] }
    assert.equal(1, code)
    holds(err, "-32601", "only with --dev", "admin = true", "owner")
  end)

  it("shows a server's refusal with one status", function()
    local self = support.serve(METHODS, { listen = { "http://127.0.0.1:0/rpc" } })
    for _, url in ipairs { self.urls[1] .. "/x", (self.urls[1]:gsub("^http", "ws") .. "/x") } do
      local _, _, err = program.run { "call", url, "get_data" }
      holds(err, ", status 404: no endpoint of this path")
    end
  end)

  it("shows what a refusing server says", function()
    local url = support.serve(METHODS).urls[1]
    local port = conn.parse(url).port
    local code, _, err = program.run { "call", "http://127.0.0.1:" .. port .. "/nowhere", "x" }
    assert.equal(3, code)
    assert.matches("status 404: %g", err)
  end)

  it("shows that another framing may be spoken", function()
    local dir = files.temp()
    local self = support.serve(METHODS, { listen = {
      "tcp://127.0.0.1:0?framing=header", "unix:" .. dir .. "/a?framing=header" } })
    for i, other in ipairs { "http://", "http+unix:" } do
      local code, _, err = program.run { "call", self.urls[i]:match("[^?]+"), "subtract", "2", "1" }
      assert.equal(3, code, err)
      holds(err, "does the server speak ?framing=header, or HTTP (" .. other .. ")?\n")
    end
  end)
end)

describe("a fault of the framing", function()
  it("is told to the peer", function()
    local self = support.serve(METHODS, { listen = { "tcp://127.0.0.1:0?framing=header" } })
    for head, why in pairs {
      ["Content-Length: x\r\n\r\n"] = "Content-Length isn't a number",
      ["Content-Type: x\r\n\r\n"] = "a header block without Content-Length",
      ["Content-Type: x; charset=utf-16\r\nContent-Length: 4\r\n\r\n{\0}\0"] =
        "the charset in Content-Type isn't utf-8",
      ["{}\n"] = "a header line without a colon",
    } do
      local rest = conn.open(self.urls[1]):send(head):rest()
      holds(rest, ('"error":{"code":-32700,"message":"Parse error: %s"},"id":null}'):format(why))
    end
  end)
end)

describe("a result that isn't sent", function()
  it("is told with the limit", function()
    local self = support.serve({ ["big.lua"] = "return function() return ('x'):rep(2000) end" },
      { config = "{ limits = { reply = 1000 } }" })
    assert.equal(-32052, client.open(self.urls[1]):failure("big").code)
    holds((self:wait_log("result not sent")),
      'method=big error="it exceeds limits.reply, 1000 bytes"')
  end)
end)

describe("the example hello", function()
  it("greets nobody without a name", function()
    local there = support.serve_client("examples/hello")
    assert.equal("Hello, Ada!", there:result("greet", '["Ada"]'))
    assert.same({ code = -32602, message = "name is missing" }, there:failure("greet"))
  end)
end)
