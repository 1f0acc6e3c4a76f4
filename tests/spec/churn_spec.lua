-- A reload under load: whatever changes, callers see one whole generation.
local uv = require "luv"
local support = require "support"
local hammer = require "support.hammer"
local reload = require "support.reload"
local files = support.files
local watch, becomes = reload.watch, reload.becomes

after_each(support.clean)

describe("200 changes under 16 connections that call without pause", function()
  local CHANGES = tonumber(os.getenv("MOONRPC_CHANGES")) or 200
  local BATCH = '[{"jsonrpc":"2.0","method":"a.v","id":1},{"jsonrpc":"2.0","method":"b.v","id":2},'
    .. '{"jsonrpc":"2.0","method":"c","id":3}]'
  local USES = "local v = require '_lib.version'\nreturn { v = function() return v end }\n"

  -- All three answers are of one version, which never goes back.
  local function check(line, connection)
    local versions, count = {}, 0
    for version in line:gmatch('"result":(%d+)') do
      count = count + 1
      versions[count] = tonumber(version)
    end
    if count ~= 3 then return "a call failed" end
    if versions[1] ~= versions[2] or versions[1] ~= versions[3] then return "old and new mixed" end
    if versions[1] < (connection.version or 0) then return "an old answer after a new one" end
    connection.version = versions[1]
  end

  local function write_version(base, release, version, way)
    way(("%s/%d/_lib/version.lua"):format(base, release), ("return %d\n"):format(version))
  end

  local function make_release(base, release, version)
    files.write(("%s/%d/a.lua"):format(base, release), USES)
    files.write(("%s/%d/b.lua"):format(base, release), USES)
    files.write(("%s/%d/c.lua"):format(base, release), "return require('a').v\n")
    write_version(base, release, version, files.write)
  end

  it("fail no call, close no connection, mix no generations", function()
    local base = files.temp()
    make_release(base, 1, 1)
    assert(uv.fs_symlink("1", base .. "/current"))
    local there, _, self = watch(base .. "/current")
    local running = hammer.start(self.urls[1], 16, BATCH, check)
    local release, times = 1, {}
    local ways = { files.write, files.replace, files.save_like_vim, files.save_like_emacs }

    local function served(version)
      times[#times + 1] = becomes(there, "c", version)
    end

    for version = 2, CHANGES + 1 do
      local way = version % 8
      local library = ("%s/%d/_lib/version.lua"):format(base, release)
      if way < 4 then
        write_version(base, release, version, ways[way + 1])
      elseif way == 4 then
        release = release + 1
        make_release(base, release, version)
        files.swap_link(base .. "/current", tostring(release))
      elseif way == 5 then
        files.write(library, "return (")
        files.touch(("%s/%d/a.lua"):format(base, release))
        self:wait_log("version%.lua:1", nil, #self.err - 200)
        files.write(library, ("return %d\n"):format(version))
      elseif way == 6 then
        files.write(("%s/%d/new%d/d.lua"):format(base, release, version), "return {}\n")
        files.remove(("%s/%d/new%d"):format(base, release, version - 8))
        write_version(base, release, version, files.replace)
      else
        write_version(base, release, version, files.write)
      end
      served(version)
    end
    running:stop()
    assert.same({}, running.faults)
    assert.is_true(running.answers > CHANGES * 16, running.answers .. " answers")
    table.sort(times)
    assert.is_true(times[#times // 2] < 0.25, "median of " .. times[#times // 2] .. " s")
  end)
end)
