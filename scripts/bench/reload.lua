-- SPDX-License-Identifier: MIT
-- One file changed in a directory of a thousand: how long after the end of
-- the debounce the change is served, and how long other calls wait for it.
local cjson = require "cjson"
local net = require "bench.net"
local proc = require "bench.proc"
local report = require "bench.report"
local servers = require "bench.servers"
local settings = require "bench.settings"
local uv = require "luv"

local FILES = 1000
local dir = settings.work .. "/thousand"

local source = [[
-- Module %d of a thousand: a few functions, as people write them.
local module = {}
local version = %d

local function clamp(value, low, high)
  return math.max(low, math.min(high, value))
end

function module.version()
  return version
end

function module.scale(value, factor)
  return clamp(value * (factor or %d), -1e9, 1e9)
end

function module.describe(name, count)
  return { name = name, count = count, module = %d }
end

return module
]]

local function write(index, version)
  local path = ("%s/m%04d.lua"):format(dir, index)
  local file <close> = assert(io.open(path, "w"))
  file:write(source:format(index, version, index, index))
end

local function make_directory()
  os.execute("rm -rf " .. proc.quote { dir })
  assert(uv.fs_mkdir(dir, tonumber("755", 8)))
  for index = 1, FILES do write(index, 0) end
  local file <close> = assert(io.open(dir .. "/subtract.lua", "w"))
  file:write("return function(a, b) return a - b end\n")
end

local function served_version(line, index)
  local answer = assert(line:ask(('{"jsonrpc":"2.0","method":"m%04d.version",'
    .. '"id":1}'):format(index)))
  return cjson.decode(answer).result
end

-- Seconds from the end of the write until calls see the new version.
local function change(line, index, version)
  write(index, version)
  local start = uv.hrtime()
  while served_version(line, index) ~= version do
    if uv.hrtime() - start > 10e9 then
      error(("the change of m%04d.lua isn't served"):format(index), 0)
    end
    uv.sleep(1)
  end
  return (uv.hrtime() - start) / 1e9
end

-- Changes one file while another process calls without pause. Returns the
-- seconds until the change was served and the longest wait of those calls.
local function one_run(server, line, run)
  local words = { "taskset", "-c", settings.load_core, settings.work .. "/load",
    "-p", server.port, "-f", 1, "-s", 2 }
  local load = assert(io.popen(proc.quote(words)))
  uv.sleep(700)
  local served = change(line, math.random(FILES), run)
  local longest = load:read("a"):match("longest=([%d.]+)")
  assert(load:close(), "the calls beside the reload failed")
  return served, tonumber(longest)
end

return {
  reload = function()
    make_directory()
    local server, why = servers.moonrpc(dir, "tcp://127.0.0.1:0")
    if not server then return report.leave_out("reload", why) end
    local line = assert(net.line(server.port))
    local served, waits = {}, {}
    for run = 1, settings.runs do
      local seconds, longest = one_run(server, line, run)
      served[run] = seconds - settings.debounce
      if served[run] < -0.01 then
        error(("served %.3f s after the write: the debounce isn't %.3f s")
          :format(seconds, settings.debounce), 0)
      end
      waits[run] = longest
    end
    line.close()
    proc.stop(server)
    report.limit { name = "reload", unit = "ms", target = 0.050, ours = served,
      work = "1 of 1,000 files, served after" }
    report.limit { name = "reload", unit = "ms", target = 0.020, ours = waits,
      work = "longest wait of other calls meanwhile" }
  end,
}
