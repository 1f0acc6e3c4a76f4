-- Temporary directories, and the ways in which people and tools write files.
local uv = require "luv"
local loop = require "support.loop"

local files = {}

local made = {} -- temporary directories, to be removed

local function parent_of(path)
  return path:match("^(.*)/[^/]*$")
end

---@param path string
function files.mkdir(path)
  if path == "" or uv.fs_stat(path) then return end
  files.mkdir(parent_of(path) or "")
  assert(uv.fs_mkdir(path, 493)) -- rwxr-xr-x
end

-- A fresh directory; its files may be given as {["name"] = "text"}.
---@param tree table<string, string>?
---@return string
function files.temp(tree)
  local dir = assert(uv.fs_mkdtemp("/tmp/moonrpc-spec-XXXXXX"))
  made[#made + 1] = dir
  for name, text in pairs(tree or {}) do
    files.write(dir .. "/" .. name, text)
  end
  return dir
end

-- Removes a file, a link or a whole directory; what isn't there is fine.
---@param path string
function files.remove(path)
  local stat = uv.fs_lstat(path)
  if not stat then return end
  if stat.type ~= "directory" then return assert(uv.fs_unlink(path)) end
  local scan = assert(uv.fs_scandir(path))
  for name in function() return uv.fs_scandir_next(scan) end do
    files.remove(path .. "/" .. name)
  end
  assert(uv.fs_rmdir(path))
end

-- Removes all that `temp` has made.
function files.clean()
  for _, dir in ipairs(made) do files.remove(dir) end
  made = {}
end

---@param path string
---@return string
function files.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

-- In place: truncate and write at once, as `cat > file` and nano do.
---@param path string
---@param text string
function files.write(path, text)
  files.mkdir(parent_of(path) or "")
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
end

-- Truncates, writes half after `seconds`, the rest after as long again.
---@param path string
---@param text string
---@param seconds number
function files.write_slowly(path, text, seconds)
  local file = assert(io.open(path, "wb"))
  local half = #text // 2
  loop.pass(seconds)
  assert(file:write(text:sub(1, half)):flush())
  loop.pass(seconds)
  assert(file:write(text:sub(half + 1)))
  assert(file:close())
end

-- By rename: a temporary file beside it takes its name, as most editors do.
---@param path string
---@param text string
---@param temporary string? its name; default: path .. ".tmp"
function files.replace(path, text, temporary)
  temporary = temporary or path .. ".tmp"
  files.write(temporary, text)
  assert(uv.fs_rename(temporary, path))
end

-- As vim with 'backup': a swap file while one edits, the probe file 4913, the
-- old file renamed to a backup, a new one in its place, the backup removed.
---@param path string
---@param text string
function files.save_like_vim(path, text)
  local dir, name = path:match("^(.*)/([^/]*)$")
  local swap, probe = dir .. "/." .. name .. ".swp", dir .. "/4913"
  files.write(swap, "b0VIM 9.0")
  files.write(probe, "")
  files.remove(probe)
  assert(uv.fs_rename(path, path .. "~"))
  files.write(path, text)
  files.remove(path .. "~")
  files.remove(swap)
end

-- As emacs: an auto-save file, a backup copy, the file written in place.
---@param path string
---@param text string
function files.save_like_emacs(path, text)
  local dir, name = path:match("^(.*)/([^/]*)$")
  local auto, lock = dir .. "/#" .. name .. "#", dir .. "/.#" .. name
  files.write(auto, text)
  assert(uv.fs_symlink("user@host.1:1", lock))
  files.write(path .. "~", files.read(path))
  files.write(path, text)
  files.remove(auto)
  files.remove(lock)
end

-- Points a symbolic link elsewhere in one step, as a ConfigMap volume does.
---@param link string
---@param target string
function files.swap_link(link, target)
  local temporary = link .. ".new"
  assert(uv.fs_symlink(target, temporary))
  assert(uv.fs_rename(temporary, link))
end

-- New times, the content as it is.
---@param path string
function files.touch(path)
  local now = os.time()
  assert(uv.fs_utime(path, now, now))
end

---@param path string
---@return boolean
function files.exists(path)
  return uv.fs_lstat(path) ~= nil
end

return files
