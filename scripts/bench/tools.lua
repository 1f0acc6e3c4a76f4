-- SPDX-License-Identifier: MIT
-- Builds the C programs of the benchmark into build/bench.
local settings = require "bench.settings"

local tools = {}

local function compile(target, sources, more)
  local flags = "-std=c11 -D_GNU_SOURCE -O2 -flto=auto -Wall -Wextra"
  local paths = sources:gsub("%S+", settings.home .. "/%0.c")
  local command = ("cc %s -o %s/%s %s %s"):format(flags, settings.work,
    target, paths, more or "")
  if not os.execute(command) then error("can't build " .. target, 0) end
end

-- As the Makefile does: llhttp as a library, or the sources of node-llhttp.
local function llhttp()
  if os.execute("pkg-config --exists libllhttp") then
    return "$(pkg-config --cflags --libs libllhttp)"
  end
  local dir = "/usr/share/llhttp/"
  return "-w -I/usr/share/include -I/usr/share/include/llhttp " .. dir
    .. "api.c " .. dir .. "http.c " .. dir .. "llhttp.c"
end

function tools.compile()
  local uv = " $(pkg-config --cflags --libs libuv)"
  compile("load", "load ledger tool")
  compile("wsload", "wsload wsclient ledger tool")
  compile("crowd", "crowd wsclient tool")
  compile("answer", "answer tool")
  compile("start", "start")
  compile("bare", "peers/bare", llhttp() .. uv)
  compile("barews", "peers/barews", "-lwslay -lcrypto" .. uv)
end

return tools
