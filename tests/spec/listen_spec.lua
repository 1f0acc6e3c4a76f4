-- moonrpc listen: what it prints, answers, and how it ends. The servers are
-- shell scripts that say what is in a file, and serve.
local support = require "support"
local files, program = support.files, support.program

after_each(support.clean)

local function run(...)
  return program.run({ ... })
end

-- The address of a program that says these lines, then runs `command`.
local function saying(lines, command)
  local dir = files.temp { lines = table.concat(lines, "\n") .. "\n" }
  return ("exec:sh -c 'cat %s/lines; %s'"):format(dir, command or "read x")
end

local NOTE = '{"jsonrpc":"2.0","method":"note","params":{"b": [1, "é"]}}'
local BARE = '{"jsonrpc":"2.0","method":"bare"}'

describe("moonrpc listen", function()
  it("prints each notification on a line", function()
    local code, out = run("listen", saying({ NOTE, BARE }, "exit 0"))
    assert.equal('{"method":"note","params":{"b":[1,"é"]}}\n{"method":"bare"}\n', out)
    assert.equal(3, code)
  end)

  it("prints them on many lines on a terminal", function()
    local command = ('\'%s\' listen "%s"'):format(program.path, saying({ NOTE }, "exit 0"))
    local _, out = program.run({ "-qec", command, "/dev/null" }, { path = "/usr/bin/script" })
    assert.matches('{\r\n  "method": "note",\r\n', out)
  end)

  it("answers what the server calls with -32601", function()
    local request = '{"jsonrpc":"2.0","method":"now","id":"a"}'
    local _, out, err = run("listen", saying({ request }, 'read x; echo "$x" >&2'))
    assert.equal("", out)
    assert.matches("%-32601", err)
    assert.matches('id\\":\\"a', err, 1, true)
  end)

  it("makes one call first, whose result goes to stderr", function()
    local answer = '{"jsonrpc":"2.0","id":1,"result":"0x1"}'
    local url = saying({ answer, NOTE }, "exit 0")
    local _, out, err = run("listen", url, "eth_subscribe", "newHeads")
    assert.equal('{"method":"note","params":{"b":[1,"é"]}}\n', out)
    assert.matches('^eth_subscribe: "0x1"\n', err)
  end)

  it("takes named arguments for it", function()
    local _, _, err = run("listen", "exec:sh -c 'read x; echo \"$x\" >&2'", "subscribe", "to=heads")
    assert.matches('params\\":{\\"to\\":\\"heads\\"}', err, 1, true)
  end)

  it("exits with 1 when that is answered with an error", function()
    local url = "exec:" .. program.path .. " serve tests/spec/methods --listen stdio:"
    local code, out, err = run("listen", url, "fail", "-7", "No")
    assert.same({ 1, "" }, { code, out })
    assert.matches("\n%-7 No", err)
  end)

  it("ends well by SIGINT and SIGTERM, in good order", function()
    local self = support.serve("tests/spec/methods", { listen = { "tcp://127.0.0.1:0" } })
    for _, signal in ipairs { "sigint", "sigterm" } do
      local listen = program.start { "listen", self.urls[1], "echo", signal }
      listen:wait_log('echo: %["' .. signal)
      listen:kill(signal)
      assert.equal(0, listen:wait_exit())
    end
  end)

  it("exits with 3 when the server goes or isn't there", function()
    local self = support.serve("tests/spec/methods", { listen = { "tcp://127.0.0.1:0" } })
    local listen = program.start { "listen", self.urls[1], "echo", "up" }
    listen:wait_log('echo: %["up')
    self:kill("sigkill")
    assert.equal(3, listen:wait_exit())
    assert.matches("has closed the connection\n$", listen.err)
    assert.equal(3, (run("listen", self.urls[1])))
  end)

  it("tells why the server closes a WebSocket, as call does", function()
    local self = support.serve { ["init.lua"] =
      [[rpc.on("connect", function(peer) peer:close("no seat\nfor you") end)]] }
    local url = self.urls[1]:gsub("^http", "ws")
    for _, command in ipairs { "listen", "call" } do
      local code, out, err = run(command, url, "x")
      assert.same({ 3, "" }, { code, out })
      assert.equal(("moonrpc %s: %s: the server has closed the connection: no seat?for you\n")
        :format(command, url), err)
    end
  end)

  it("exits with 3 when the one call isn't answered in time", function()
    local code, _, err = run("listen", "--timeout", "0.2", saying({}, "sleep 5"), "x")
    assert.equal(3, code)
    assert.matches("no answer within 0.2 s\n$", err)
  end)

  it("ends when nobody reads its output any more", function()
    local url = ("exec:sh %s/script"):format(files.temp { script =
      "while :; do echo '" .. NOTE .. "'; sleep 0.01; done" })
    local command = ("'%s' listen '%s' | head -2; echo ${PIPESTATUS[0]}"):format(program.path, url)
    local code, out = program.run({ "-c", command }, { path = "/bin/bash" })
    assert.equal(0, code)
    local line = '{"method":"note","params":{"b":[1,"é"]}}\n'
    assert.equal(line .. line .. "0\n", out)
  end)

  it("is told how to be used with exit code 2", function()
    assert.is_nil(program.find_accepted("listen", {
      {}, { "nonsense" }, { "http://127.0.0.1:1" }, { "--nope", "tcp://127.0.0.1:1" },
      { "--timeout", "soon", "tcp://127.0.0.1:1" }, { "tcp://127.0.0.1:1", "x", "a=1", "2" },
    }))
  end)
end)
