-- Where the system can't watch. In a user namespace inotify can be taken away
-- from the program; file systems that send no events: unit/test_silence.c.
local support = require "support"
local reload = require "support.reload"
local files, loop = support.files, support.loop
local answering, becomes = reload.answering, reload.becomes

local LIMIT = "/proc/sys/user/max_inotify_instances"
local NAMESPACE = { "unshare", "--user", "--map-root-user", "sh", "-c",
  "echo 0 > " .. LIMIT .. ' && exec "$0" "$@"' }

local has_namespaces = os.execute("unshare --user --map-root-user sh -c 'echo 0 > " .. LIMIT
  .. "' 2>/dev/null")

describe("without inotify", function()
  after_each(support.clean)

  it("the log says so, and changes are served within a second", function()
    if not has_namespaces then return pending("there are no user namespaces") end
    local there, dir, self = reload.watch({ ["a.lua"] = answering(1), ["b.lua"] = answering "b" },
      { under = NAMESPACE })
    assert.matches("max_user_instances", (self:wait_log("warn +changes are looked for once a s")))
    local from, slowest = loop.now(), 0
    for i, save in ipairs { files.write, files.replace, files.save_like_vim, files.write } do
      save(dir .. "/a.lua", answering(i + 1))
      slowest = math.max(slowest, becomes(there, "a", i + 1))
    end
    assert.is_true(slowest < 1.5, slowest .. " s")
    assert.is_true(loop.now() - from > 2, "it was polled")
    files.write(dir .. "/new/c.lua", answering "c")
    becomes(there, "new.c", "c")
    files.remove(dir .. "/b.lua")
    reload.is_gone(there, "b")
    local _, warnings = self.err:gsub("looked for once a second", "")
    assert.equal(1, warnings)
  end)
end)
