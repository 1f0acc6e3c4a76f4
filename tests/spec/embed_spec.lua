-- The library as others get it: `make install`, moonrpc.pc, and the program
-- that the header shows, built and run outside of the tree.
local support = require "support"
local client, files, loop, program = support.client, support.files, support.loop, support.program

after_each(support.clean)

-- Runs a shell command, which must succeed; what it prints.
local function sh(command)
  local code, out, err = program.run({ "-c", command }, { path = "/bin/sh", seconds = 120 })
  assert.equal(0, code, command .. "\n" .. out .. err)
  return out
end

-- `make` as it built what is tested.
local function make(...)
  local build, san = (os.getenv("MOONRPC_BUILD") or "build/release"):match("(%a+)%-?([%a-]*)$")
  return sh(("unset MAKEFLAGS MFLAGS MAKELEVEL; make BUILD=%s SAN=%s %s"):format(build,
    (san:gsub("-", ",")), table.concat({ ... }, " ")))
end

-- The program in the comment on mrpc_host, and the line below it that links it.
local function read_snippet(header)
  local text = files.read(header):match("\n( %*   #include <moonrpc%.h>.-) %* Addresses:")
  text = text:gsub("\n %* ? ?", "\n"):gsub("^ %*  ", "")
  local source, command = text:match("^(.-\n }\n)%s*(cc .-)\n")
  return source, command
end

describe("what is installed", function()
  it("is enough for the program that the header shows", function()
    local dir = files.temp { ["methods/add.lua"] = "return function(a, b) return a + b end" }
    make("install", "PREFIX=" .. dir .. "/p")
    assert.matches("^moonrpc %d", sh(dir .. "/p/bin/moonrpc --version"))
    local source, command = read_snippet(dir .. "/p/include/moonrpc.h")
    -- The one thing that a test can't leave as it is: the port.
    local free = program.serve("tests/spec/methods")
    local port = free.urls[1]:match("%d+$")
    free:kill("sigterm")
    free:wait_exit()
    files.write(dir .. "/main.c", (source:gsub(":4000", ":" .. port)))
    sh(("cd %s && export PKG_CONFIG_PATH=p/lib/pkgconfig && %s "
      .. "-fno-lto -Wall -Wextra -Werror -o program")
      :format(dir, command))
    local self = program.start({}, { path = dir .. "/program", cwd = dir })
    local url = "http://127.0.0.1:" .. port
    loop.wait(function()
      return self.code or program.run { "call", url, "add", "1", "2" } == 0
    end, nil, "an answer of the program")
    assert.is_nil(self.code, self.err)
    assert.equal(3, client.open(url):result("add", "[1,2]"))
  end)
end)
