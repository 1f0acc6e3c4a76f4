-- SPDX-License-Identifier: MIT
-- Builds the C programs of the benchmark into build/bench.
local settings = require "bench.settings"

local tools = {}

local function compile(source, target, more)
  local flags = "-std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra"
  local command = ("cc %s -o %s/%s %s/%s.c %s"):format(flags, settings.work,
    target, settings.home, source, more or "")
  if not os.execute(command) then error("can't build " .. source, 0) end
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
  compile("load", "load")
  compile("start", "start")
  compile("peers/bare", "bare",
    llhttp() .. " $(pkg-config --cflags --libs libuv)")
end

return tools
