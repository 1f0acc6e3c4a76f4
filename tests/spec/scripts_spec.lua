-- The checks that keep the tree in shape, each tried on a tree that breaks it.
local support = require "support"
local files, program = support.files, support.program

-- Runs a script on a folder with these files: exit code and output.
local function check(script, tree)
  local dir = files.temp(tree)
  local code, out = program.run({ "scripts/" .. script, dir }, { path = "/usr/bin/lua5.4" })
  return code, (out:gsub(dir .. "/", ""))
end

after_each(support.clean)

describe("scripts/layers", function()
  local function refuses(tree, message)
    local code, out = check("layers", tree)
    assert.equal(1, code)
    assert.is_truthy(out:find(message, 1, true), out)
  end

  it("lets a layer include what stands below it", function()
    local code, out = check("layers", {
      ["moonrpc.h"] = "#include <stddef.h>\n",
      ["base/a.h"] = '#include "moonrpc.h"\n',
      ["rpc/a.c"] = '#include <string.h>\n#include "base/a.h"\n#include "json/b.h"\n',
      ["json/b.h"] = '#include "base/a.h"\n',
      ["runtime/r.c"] = '#include <lua.h>\n#include <dirent.h>\n#include "rpc/c.h"\n',
      ["host/luv.c"] = "#include <lua.h>\n#include <uv.h>\n",
    })
    assert.equal(0, code, out)
  end)

  it("names file and line of what points up or sideways", function()
    refuses({ ["json/a.c"] = '\n#include "rpc/a.h"\n' },
      'json/a.c:2: json may not include rpc ("rpc/a.h")')
    refuses({ ["transport/a.c"] = '#include "runtime/a.h"\n' }, "transport/a.c:1:")
    refuses({ ["cli/a.c"] = '#include "host/host.h"\n' }, "cli/a.c:1:")
  end)

  it("keeps libraries and the system in their places", function()
    refuses({ ["rpc/a.c"] = "# include <lua.h>\n" }, "rpc may not include <lua.h>")
    refuses({ ["runtime/a.c"] = "#include <uv.h>\n" }, "runtime may not include <uv.h>")
    refuses({ ["transport/a.c"] = "#include <openssl/ssl.h>\n" }, "<openssl/ssl.h>")
    refuses({ ["http/a.c"] = "#include <sys/socket.h>\n" }, "http does no I/O")
  end)

  it("finds circles", function()
    refuses({ ["base/a.h"] = '#include "base/b.h"\n', ["base/b.h"] = '#include "base/a.h"\n' },
      "a circle")
  end)

  it("knows no other folders", function()
    refuses({ ["util/a.c"] = "" }, "util is no layer")
  end)
end)

describe("scripts/banned", function()
  local function faults(path, text)
    local code, out = check("banned", { [path] = text })
    assert.equal(out:find(" 0 faults") and 0 or 1, code)
    return out
  end

  it("finds calls, with file and line", function()
    assert.matches("base/a.c:2: strcpy", faults("base/a.c", "void f(void) {\n  strcpy(a, b);\n}\n"))
    assert.matches("rpc/a.c:1: malloc", faults("rpc/a.c", "void *p = malloc (3);\n"))
    assert.matches("rpc/a.c:1: exit", faults("rpc/a.c", "exit(1);\n"))
    assert.matches("host/a.c:1: signal", faults("host/a.c", "signal(SIGPIPE, SIG_IGN);\n"))
  end)

  it("overlooks comments, strings, members and longer names", function()
    local out = faults("rpc/a.c", '/* strcpy(a) */ f("gets(x)"); // exit(1)\n' ..
      "mrpc_mem_free(m, p, n); vt->free(f); o.printf(1); g('\"'); snprintf(b, n, \"%d\", 1);\n")
    assert.matches("1 files, 0 faults", out)
  end)

  it("lets the program print and end", function()
    assert.matches(" 0 faults", faults("cli/main.c", 'printf("x"); exit(2); free(p);\n'))
    assert.matches(" 1 faults", faults("cli/main.c", "gets(p);\n"))
  end)
end)
