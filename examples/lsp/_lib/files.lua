-- Files and their URIs. Reading waits, by luv, and lets others run; a caller who
-- gives up meanwhile leaves no file open.
local uv = require "luv"
local files = {}

function files.path(uri)
  return (uri:gsub("^file://", ""):gsub("%%(%x%x)", function(hex)
    return string.char(tonumber(hex, 16))
  end))
end

function files.uri(path)
  return "file://" .. path:gsub("[^%w/._~-]", function(byte)
    return ("%%%02X"):format(byte:byte())
  end)
end

-- Calls a function of luv and waits for what it gives.
local function wait(fn, ...)
  local args = table.pack(...)
  local err, value = rpc.await(function(resume)
    args[args.n + 1] = resume
    fn(table.unpack(args, 1, args.n + 1))
  end)
  return value, err
end

-- Calls `fn` with the path of each Lua file below a directory.
function files.each(dir, fn)
  local entries = wait(uv.fs_scandir, dir)
  if not entries then return end
  for name, kind in function() return uv.fs_scandir_next(entries) end do
    local path = dir .. "/" .. name
    if kind == "directory" then files.each(path, fn)
    elseif kind ~= "fifo" and name:find("%.lua$") then fn(path) end
  end
end

function files.read(path)
  local fd = uv.fs_open(path, "r", 0) -- at once, so that it can't open too late
  if not fd then return "" end
  local _ <close> = setmetatable({}, { __close = function() uv.fs_close(fd) end })
  local stat = wait(uv.fs_fstat, fd)
  return wait(uv.fs_read, fd, stat.size, 0) or ""
end

return files
