-- The commands: what they print, where, and with which exit code.
local uv = require "luv"
local support = require "support"
local files, json, program = support.files, support.json, support.program

local METHODS = "tests/spec/methods"

local function run(...)
  return program.run({ ... })
end

describe("moonrpc call", function()
  local server

  setup(function()
    local dir = files.temp()
    server = support.serve(METHODS, { listen = {
      "http://127.0.0.1:0", "tcp://127.0.0.1:0",
      "unix:" .. dir .. "/a", "http+unix:" .. dir .. "/b",
    } })
  end)
  teardown(support.clean)

  -- Calls and compares the result, byte for byte but for white space.
  local function gives(expected, ...)
    local code, out, err = run("call", server.urls[1], ...)
    assert.equal("", err)
    assert.equal(0, code)
    assert.equal(json.canonical(expected), json.canonical(out))
    assert.matches("\n$", out)
  end

  it("prints the result", function()
    gives("19", "subtract", "42", "23")
    gives('["hello",5]', "get_data")
    gives("null", "update")
  end)

  it("works on every transport", function()
    for _, url in ipairs(server.urls) do
      local code, out, err = run("call", url, "subtract", "42", "23")
      assert.same({ 0, "19\n", "" }, { code, out, err }, url)
    end
  end)

  it("starts a program and speaks with it", function()
    local serve = program.path .. " serve '" .. METHODS .. "' --listen stdio:"
    for _, url in ipairs { "exec:" .. serve, "exec+line:" .. serve, "exec+header:" .. serve } do
      local code, out = run("call", url, "echo", "two  words")
      assert.same({ 0, '["two  words"]\n' }, { code, out }, url)
    end
  end)

  it("tells how a program ended, and what it said", function()
    local code, out, err = run("call", "exec:sh -c 'echo oops >&2; exit 127'", "x")
    assert.same({ 3, "" }, { code, out })
    assert.matches("stderr  command=sh line=oops\n", err)
    assert.matches("exec:sh .*: exited with status 127\n$", err)
    local _
    code, _, err = run("call", "exec:no-such-program", "x")
    assert.equal(3, code)
    assert.matches("no%-such%-program: no such file or directory\n$", err)
    code, _, err = run("call", "exec:sh 'x", "x")
    assert.equal(2, code)
    assert.matches("a quote or backslash isn't closed", err)
  end)

  it("drops what a program prints beside its messages, and says so once", function()
    local path = files.temp { script = [[
      echo starting; echo '[info] up'
      while read -r line; do
        echo "$line" >> "$0.heard"
        echo "got $line"
        case $line in *'"method"'*) echo '{"jsonrpc":"2.0","result":7,"id":1}';; esac
      done]] } .. "/script"
    local code, out, err = run("call", "exec:sh " .. path, "x")
    assert.same({ 0, "7\n" }, { code, out })
    local line = err:match("(.-)\n")
    assert.equal("warn  a line that is no message is dropped  peer=\"exec:sh " .. path ..
      "\" line=starting", line:match("warn.*"))
    assert.equal(#line + 1, #err)
    assert.matches('^{[^\n]*"method":"x"[^\n]*\n$', files.read(path .. ".heard"))
  end)

  it("cancels what it gives up, by the time or by SIGINT", function()
    local self = support.serve({ ["hang.lua"] = [[
      return function()
        rpc.log.info("begun")
        local _, err = pcall(rpc.sleep, 100)
        rpc.log.info(err == rpc.cancelled and "cancelled" or "not cancelled")
      end]] }, { listen = { "tcp://127.0.0.1:0", "tcp://127.0.0.1:0", "http://127.0.0.1:0" } })
    local urls, past, _ = self.urls, 1, nil
    urls[2] = urls[2] .. "?framing=header"
    for _, url in ipairs(urls) do
      assert.equal(3, (run("call", "--timeout", "0.3", url, "hang")), url)
      _, past = self:wait_log("info  cancelled", nil, past)
      local call = program.start { "call", url, "hang" }
      _, past = self:wait_log("begun", nil, past)
      call:kill("sigint")
      assert.equal(130, call:wait_exit(), url)
      _, past = self:wait_log("info  cancelled", nil, past)
    end
  end)

  it("leaves no program behind when it gives up", function()
    local path = files.temp() .. "/pid"
    local url = ("exec:sh -c 'echo $$ > %s; exec sleep 100'"):format(path)
    assert.equal(3, (run("call", "--timeout", "0.3", url, "x")))
    assert.is_nil(uv.kill(tonumber(files.read(path)), 0))
  end)

  it("takes named arguments", function()
    gives("19", "subtract", "subtrahend=23", "minuend=42")
    gives('{"a":"b=c"}', "echo", "a=b=c")
    gives('{"a":{"b":[1]}}', "echo", 'a={"b":[1]}')
  end)

  it("takes arguments as JSON where they are, else as strings", function()
    gives('[1,"a",true,null,[1],{"b":{}},"1x","","01","é"]',
      "echo", "1", "a", "true", "null", "[1]", '{"b":{}}', "1x", "", "01", "é")
    gives('["1"]', "echo", '"1"')
    gives("[9007199254740993]", "echo", "9007199254740993")
    gives('["-- x"]', "echo", "-- x")
    gives("[-1]", "echo", "-1")
  end)

  it("prints the result on many lines on a terminal", function()
    local command = ("'%s' call %s echo 'a=[1,{\"b\":2}]'"):format(program.path, server.urls[1])
    local _, out = program.run({ "-qec", command, "/dev/null" }, { path = "/usr/bin/script" })
    out = out:gsub("\r", "")
    assert.equal('{"a":[1,{"b":2}]}', json.canonical(out))
    assert.matches("^{\n  \"a\": %[\n    1,\n", out)
  end)

  it("notifies without waiting for an answer", function()
    for _, url in ipairs(server.urls) do
      assert.same({ 0, "", "" }, { run("call", "--notify", url, "boom") }, url)
    end
  end)

  it("prints an error on stderr and exits with 1", function()
    local code, out, err = run("call", server.urls[1], "fail", "-32000", "No way", '{"a":1}')
    assert.equal(1, code)
    assert.equal("", out)
    assert.matches("%-32000", err)
    assert.matches("No way", err)
    assert.matches('"a"', err)
    assert.equal(1, (run("call", server.urls[1], "nope")))
  end)

  it("exits with 3 when nobody is there", function()
    for _, url in ipairs {
      "http://127.0.0.1:1", "tcp://127.0.0.1:1", "unix:/nowhere/s", "http+unix:/nowhere/s",
    } do
      local code, out, err = run("call", url, "subtract")
      assert.equal(3, code, err)
      assert.equal("", out)
      assert.is_truthy(err:find(url, 1, true), err)
    end
  end)

  it("exits with 3 when the answer doesn't come in time", function()
    for _, url in ipairs(server.urls) do
      local code, out, err = run("call", "--timeout", "0.2", url, "wait", "for ever")
      assert.equal(3, code, err)
      assert.equal("", out)
      assert.is_true(#err > 0)
    end
  end)

  it("exits with 3 when what answers is no JSON-RPC", function()
    local code, _, err = run("call", server.urls[1] .. "/nowhere", "subtract")
    assert.equal(3, code)
    assert.matches("404", err)
  end)

  it("is told how to be used with exit code 2", function()
    assert.is_nil(program.find_accepted("call", {
      {}, { server.urls[1] }, { "nonsense", "subtract" }, { "ftp://a:1", "subtract" },
      { "--nope", server.urls[1], "subtract" }, { "--timeout", "soon", server.urls[1], "subtract" },
      { "--timeout" },
    }))
  end)
end)

describe("moonrpc methods", function()
  after_each(support.clean)

  it("lists names and params of a directory and of a server", function()
    local self = support.serve(METHODS, { dev = true })
    for _, target in ipairs { METHODS, self.urls[1] } do
      local code, out, err = run("methods", target)
      assert.equal(0, code, err)
      assert.matches("subtract[^\n]*minuend[^\n]*subtrahend", out)
      for _, name in ipairs { "sum", "update", "echo", "get_data", "boom", "wait" } do
        assert.matches("%f[%w]" .. name .. "%f[^%w_]", out)
      end
    end
  end)

  it("takes every address that call takes", function()
    local path = files.temp {} .. "/s"
    program.start { "serve", METHODS, "--dev", "--listen", "http+unix:" .. path }:wait_listening(1)
    local exec = ("exec:%s serve %s --dev --listen stdio:"):format(program.path, METHODS)
    for _, url in ipairs { "http+unix:" .. path, "ws+unix:" .. path, exec } do
      local code, out, err = run("methods", url)
      assert.equal(0, code, err)
      assert.matches("subtract", out)
    end
    assert.matches("a URL must begin with", select(3, run("methods", "localhost:4000")))
  end)

  it("exits with 3 when nobody is there, with 2 when used wrongly", function()
    assert.equal(3, (run("methods", "tcp://127.0.0.1:1")))
    assert.equal(2, (run("methods")))
    assert.equal(2, (run("methods", "--nope", METHODS)))
  end)
end)

describe("moonrpc status", function()
  after_each(support.clean)

  local function counter(self, name)
    local code, out, err = run("status", self.urls[1])
    assert.equal(0, code, err)
    return tonumber(out:match("%f[%w]" .. name .. " +(%d+)\n"))
  end

  it("shows calls out, stray answers, and that a dead connection leaves none", function()
    local self = support.serve(METHODS, { listen = { "tcp://127.0.0.1:0" }, dev = true })
    local peer = support.conn.open(self.urls[1])
    peer:send('{"jsonrpc":"2.0","method":"ask","params":["x"],"id":1}\n')
    assert.matches('"method":"x"', peer:line())
    peer:send('{"jsonrpc":"2.0","result":1,"id":7}\n{"jsonrpc":"2.0","method":"sum","id":2}\n')
    assert.matches('"id":2', peer:line())
    assert.equal(1, counter(self, "pending"))
    assert.equal(1, counter(self, "stray answers"))
    assert.equal(2, counter(self, "open"))
    assert.equal(2, counter(self, "in flight"))
    peer:reset()
    support.loop.poll(function() return counter(self, "open") == 1 end, nil, "its end")
    assert.equal(0, counter(self, "pending"))
    assert.equal(1, counter(self, "in flight"))
  end)

  it("exits with 3 when nobody is there, with 2 when used wrongly", function()
    assert.equal(3, (run("status", "tcp://127.0.0.1:1")))
    assert.equal(2, (run("status")))
  end)
end)

describe("moonrpc", function()
  after_each(support.clean)

  it("shows help for itself and for each command", function()
    local code, out, err = run("--help")
    assert.same({ 0, "" }, { code, err })
    for _, command in ipairs { "serve", "call", "check", "methods", "status" } do
      assert.matches(command, out)
      local code_of, out_of, err_of = run(command, "--help")
      assert.same({ 0, "" }, { code_of, err_of })
      assert.matches("moonrpc " .. command, out_of)
    end
  end)

  it("tells its version", function()
    local code, out = run("--version")
    assert.equal(0, code)
    assert.matches("%d+%.%d+%.%d+", out)
  end)

  it("exits with 1 when what it prints can't be written, and says so", function()
    for _, args in ipairs { "methods " .. METHODS, "check " .. METHODS, "--version" } do
      local pipe = io.popen(("%s %s 2>&1 >/dev/full"):format(program.path, args))
      assert.equal("moonrpc: the output can't be written\n", pipe:read("a"))
      assert.equal(1, select(3, pipe:close()))
    end
  end)

  it("exits with 2 for what it doesn't understand, on stderr", function()
    for _, args in ipairs {
      {}, { "dance" }, { "--nope" }, { "serve" }, { "serve", METHODS, "--nope" },
      { "serve", METHODS, "--listen" }, { "serve", METHODS, "--listen", "ftp://a:1" },
      { "serve", METHODS, "--listen", "http://127.0.0.1" , "--listen", "nonsense" },
      { "serve", METHODS, "--listen", "tcp://127.0.0.1:99999" },
      { "serve", METHODS, "--listen", "tcp://127.0.0.1:0?framing=morse" },
      { "serve", METHODS, "--log", "loud" }, { "serve", METHODS, "--log-format", "xml" },
      { "serve", METHODS, "--drain", "soon" }, { "serve", METHODS, METHODS },
    } do
      local code, out, err = run(table.unpack(args))
      assert.equal(2, code, table.concat(args, " ") .. ": " .. err)
      assert.equal("", out)
      assert.is_true(#err > 0)
    end
  end)

  it("doesn't serve a directory that isn't there", function()
    local code, _, err = run("serve", "/nowhere", "--listen", "tcp://127.0.0.1:0")
    assert.is_true(code == 1 or code == 2)
    assert.matches("/nowhere", err)
  end)
end)
