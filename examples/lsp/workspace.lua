-- Functions in all Lua files below the root. It reads many files, so it waits
-- many times: others are served meanwhile, the editor sees how far it is, and
-- may give up.
local files = require "_lib.files"
local session = require "_lib.session"
local text = require "_lib.text"

-- The functions that a file names at the beginning of lines.
local function symbols(path, query, found)
  local number = 0
  for line in files.read(path):gmatch("([^\n]*)\n?") do
    number = number + 1
    local name = line:match("^%s*function%s+([%w_.:]+)")
      or line:match("^%s*local%s+function%s+([%w_]+)")
    if name and name:lower():find(query, 1, true) then
      found[#found + 1] = { name = name, kind = 12, location = {
        uri = files.uri(path), range = text.line_range(number),
      } }
    end
  end
end

session.method("workspace/symbol", function(params, self)
  local found = rpc.array {}
  if not self.root then return found end
  rpc.progress { kind = "begin", title = "searching", cancellable = true }
  files.each(files.path(self.root), function(path)
    symbols(path, params.query:lower(), found)
    rpc.progress { kind = "report", message = utf8.len(path) and path or files.uri(path) }
  end)
  rpc.progress { kind = "end", message = #found .. " found" }
  return found
end)
