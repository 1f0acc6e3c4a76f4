-- The tools of the specs themselves, tried on small programs and servers: a
-- test bench that can't fail proves nothing.
local uv = require "luv"
local support = require "support"
local conn, files, json = support.conn, support.files, support.json
local loop, program, wire = support.loop, support.program, support.wire

local SHELL = { path = "/bin/sh" }

-- A server in this process that hands each connection to `serve`; its URL.
local servers = {}
local function start_server(serve)
  local server = uv.new_tcp()
  servers[#servers + 1] = server
  server:bind("127.0.0.1", 0)
  server:listen(16, function()
    local client = uv.new_tcp()
    server:accept(client)
    serve(client)
  end)
  return "tcp://127.0.0.1:" .. server:getsockname().port
end

-- Sends back what it gets, ends when the other side has ended.
local function echo(client)
  client:read_start(function(_, data)
    if data then
      client:write(data)
    else
      client:write("the end", function() client:close() end)
    end
  end)
end

-- Answers everything with the same bytes, then closes.
local function canned(bytes)
  return start_server(function(client)
    client:write(bytes, function() client:close() end)
  end)
end

after_each(function()
  support.clean()
  for _, server in ipairs(servers) do server:close() end
  servers = {}
end)

describe("waiting", function()
  it("returns what was waited for", function()
    assert.equal(7, loop.wait(function() return 7 end, 1, "seven"))
  end)

  it("fails at its deadline and says for what", function()
    local ok, why = pcall(loop.wait, function() return false end, 0.01, "Godot")
    assert.is_false(ok)
    assert.matches("Godot", why)
  end)
end)

describe("a program", function()
  it("gives its exit code and its output", function()
    local code, out, err = program.run({ "-c", "echo a; echo b >&2; exit 7" }, SHELL)
    assert.same({ 7, "a\n", "b\n" }, { code, out, err })
  end)

  it("is fed through stdin", function()
    local _, out = program.run({ "-c", "cat" }, { path = "/bin/sh", input = "fed" })
    assert.equal("fed", out)
  end)

  it("has the environment that it was given", function()
    local _, out = program.run({ "-c", "echo $A" }, { path = "/bin/sh", env = { A = "1" } })
    assert.equal("1\n", out)
  end)

  it("tells where it listens", function()
    local self = program.start({ "-c",
      "echo listening on http://127.0.0.1:81/x >&2; echo listening on stdio: >&2; read x" },
      { path = "/bin/sh", stdin = true })
    self:wait_listening(2)
    assert.same({ "http://127.0.0.1:81/x", "stdio:" }, self.urls)
  end)

  it("that ends before it listens is an error with its output", function()
    local self = program.start({ "-c", "echo no port >&2; exit 3" }, SHELL)
    local ok, why = pcall(self.wait_listening, self, 1)
    assert.is_false(ok)
    assert.matches("no port", why)
  end)

  it("shows its log line by line", function()
    local self = program.start({ "-c", "echo one >&2; echo two >&2; echo one >&2" }, SHELL)
    local line, past = self:wait_log("^o")
    assert.equal("one", line)
    assert.equal("two", self:wait_log("o", nil, past))
  end)

  it("ends by signals", function()
    local self = program.start({ "-c", "trap '' TERM; echo up >&2; while :; do read x; done" },
      { path = "/bin/sh", stdin = true })
    self:wait_log("up")
    self:kill("sigterm")
    self:kill("sigkill")
    assert.same({ 0, 9 }, { self:wait_exit() })
  end)
end)

describe("a connection", function()
  it("sends whole and byte by byte, and gets it back", function()
    local connection = conn.open(start_server(echo))
    connection:send("one\ntwo\r\n"):send_bytewise("three\n")
    assert.same({ "one", "two", "three" }, connection:lines(3))
  end)

  it("half-closes, and still reads", function()
    local connection = conn.open(start_server(echo)):send("a"):finish()
    assert.equal("athe end", connection:rest())
  end)

  it("says what was there when it ended too early", function()
    local connection = conn.open(canned("half a line"))
    local ok, why = pcall(connection.line, connection)
    assert.is_false(ok)
    assert.matches("EOF", why)
    assert.matches("half a line", why)
  end)

  it("notices a reset", function()
    local connection = conn.open(start_server(function(client)
      client:read_start(function() client:close_reset() end)
    end))
    connection:send("x"):rest()
    assert.equal("ECONNRESET", connection.failed)
  end)

  it("stops reading when it is paused", function()
    local connection = conn.open(canned("x"), { reading = false })
    loop.pass(0.02)
    assert.equal("", connection.data)
    connection:resume()
    assert.equal("x", connection:rest())
  end)

  it("is made to stdin and stdout of a program", function()
    local self = program.start({ "-c", "cat" },
      { path = "/bin/sh", stdin = true, stdout = false })
    local connection = conn.stdio(self):send("through\n")
    assert.equal("through", connection:line())
    assert.equal("", connection:finish():rest())
    assert.equal(0, (self:wait_exit()))
  end)

  it("fails where nobody listens", function()
    assert.has_error(function() conn.open("unix:/nowhere/a.sock") end)
  end)

  it("knows its URLs", function()
    assert.same({ scheme = "http", host = "127.0.0.1", port = 80, path = "/" },
      conn.parse("http://127.0.0.1:80"))
    assert.same({ scheme = "tcp", host = "::1", port = 80, path = "/" },
      conn.parse("tcp://[::1]:80"))
    assert.same({ scheme = "unix", path = "/a/b" }, conn.parse("unix:/a/b?framing=line"))
  end)
end)

describe("the wire", function()
  it("reads messages with a header", function()
    local connection = conn.open(canned(
      "Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]"))
    assert.equal("{}", wire.header.read(connection))
    assert.equal("[1]", wire.header.read(connection))
  end)

  it("reads HTTP with a length, in chunks, without a body and to the end", function()
    local connection = conn.open(canned(
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" ..
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n" ..
      "HTTP/1.1 204 No Content\r\nX-A:  b \r\n\r\n" ..
      "HTTP/1.1 400 Bad Request\r\n\r\nwhy"))
    assert.equal("{}", wire.http.read(connection).body)
    assert.equal("abcd", wire.http.read(connection).body)
    local silent = wire.http.read(connection)
    assert.same({ 204, "No Content", "" }, { silent.status, silent.reason, silent.body })
    local bad = wire.http.read(connection)
    assert.same({ 400, "why" }, { bad.status, bad.body })
  end)

  it("writes HTTP requests with the fields asked for", function()
    local text = wire.http.wrap("{}", { Host = false, "X-A: 1" })
    assert.matches("^POST / HTTP/1.1\r\n", text)
    assert.matches("\r\nContent%-Length: 2\r\n", text)
    assert.matches("\r\nX%-A: 1\r\n\r\n{}$", text)
    assert.is_nil(text:find("Host"))
  end)
end)

describe("the comparison of JSON", function()
  local function same(a, b)
    return json.canonical(a) == json.canonical(b)
  end

  it("overlooks white space and the order of members only", function()
    assert.is_true(same('{"a":1,"b":[1,2]}', ' { "b" : [ 1 , 2 ] , "a" : 1 } '))
    assert.is_false(same("[1,2]", "[2,1]"))
    assert.is_false(same("1", "1.0"))
    assert.is_false(same('"\\u0041"', '"A"'))
    assert.is_false(same("[]", "{}"))
    assert.is_false(same("9007199254740993", "9007199254740992"))
    assert.is_false(same('{"a":1}', '{"a":1,"a":1}'))
  end)

  it("refuses what is no JSON", function()
    for _, text in ipairs { "", "[1", "[1,]", "{}x", '{"a"}', "nope", '"a', '{"a":1,}' } do
      assert.is_false(pcall(json.canonical, text), text)
    end
  end)
end)

describe("files", function()
  it("are written in every way with the same result", function()
    local dir = files.temp { ["sub/a.lua"] = "old" }
    local path = dir .. "/sub/a.lua"
    for i, save in ipairs {
      files.write, files.replace, files.save_like_vim, files.save_like_emacs,
    } do
      save(path, "new" .. i)
      assert.equal("new" .. i, files.read(path))
    end
    files.write_slowly(path, "slow", 0.01)
    assert.equal("slow", files.read(path))
  end)

  it("are reached through a link that is swapped", function()
    local dir = files.temp { ["1/a"] = "one", ["2/a"] = "two" }
    uv.fs_symlink(dir .. "/1", dir .. "/now")
    files.swap_link(dir .. "/now", dir .. "/2")
    assert.equal("two", files.read(dir .. "/now/a"))
  end)

  it("are gone after the test", function()
    local dir = files.temp { ["a/b/c"] = "" }
    files.clean()
    assert.is_false(files.exists(dir))
  end)
end)

describe("the reader of dialogues", function()
  local dialogue = require "support.dialogue"

  it("knows arrows, prose and lines that go on", function()
    local path = files.temp {
      a = "# prose\n\n--> [1,\n    2]\n--> {}\n<-- 1\n<-- [2,\n      3]\n",
    } .. "/a"
    assert.same({ { send = "[1, 2]", expect = {} }, { send = "{}", expect = { "1", "[2, 3]" } } },
      dialogue.read(path))
  end)

  it("refuses anything else", function()
    local path = files.temp { a = "-> {}\n" } .. "/a"
    assert.is_false(pcall(dialogue.read, path))
  end)

  it("finds the files of this project, all in order", function()
    assert.is_true(#dialogue.files() > 5)
    for _, path in ipairs(dialogue.files()) do
      for _, step in ipairs(dialogue.read(path)) do
        for _, text in ipairs(step.expect) do json.canonical(text) end
      end
    end
  end)
end)
