-- SPDX-License-Identifier: MIT
-- What the caller chose, by environment (make passes its own settings on):
-- RUNS, SECONDS, ONLY=name,name; MOONRPC=program, CORPORA=directory,
-- IN_FLIGHT, CALLS, CONNECTIONS (idle ones), DEBOUNCE (the seconds that the
-- watcher waits).
local function number(name, default)
  return tonumber(os.getenv(name) or "") or default
end

-- The cores that we may use, from a list such as "0-3,8".
local function cores()
  local found = {}
  local list
  for line in io.lines("/proc/self/status") do
    list = list or line:match("^Cpus_allowed_list:%s*(%S+)")
  end
  for part in list:gmatch("[^,]+") do
    local first, last = part:match("(%d+)-?(%d*)")
    for core = first, last == "" and first or last do
      found[#found + 1] = math.tointeger(tonumber(core))
    end
  end
  return found
end

local only
for name in (os.getenv("ONLY") or ""):gmatch("[^,%s]+") do
  only = only or {}
  only[name] = true
end

local usable = cores()
return {
  runs = math.max(1, number("RUNS", 5)),
  seconds = math.max(1, number("SECONDS", 2) // 1 | 0),
  in_flight = number("IN_FLIGHT", 1000) // 1 | 0,
  debounce = number("DEBOUNCE", 0.05),
  calls = number("CALLS", 10000000) // 1 | 0,
  connections = number("CONNECTIONS", 10000) // 1 | 0,
  only = only,
  program = os.getenv("MOONRPC") or (arg[1] or "build/release") .. "/moonrpc",
  corpora = os.getenv("CORPORA") or "../shared/corpora",
  home = arg[0]:match("^(.*)/") or ".",
  work = "build/bench",
  modules = assert(require("luv").cwd()) .. "/build/bench/node_modules",
  server_core = usable[1],
  load_core = usable[2] or usable[1],
}
