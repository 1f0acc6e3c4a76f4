-- Functions in all Lua files below the root. It reads many files, so it waits
-- many times: others are served meanwhile, and the editor may give up.
local files = require "_lib.files"
local session = require "_lib.session"

local function symbols(path, query, found)
  local number = 0
  for line in files.read(path):gmatch("([^\n]*)\n?") do
    number = number + 1
    local name = line:match("^%s*function%s+([%w_.:]+)")
      or line:match("^%s*local%s+function%s+([%w_]+)")
    if name and name:lower():find(query, 1, true) then
      local from = utf8.len(line, 1, line:find(name, 1, true)) - 1
      found[#found + 1] = {
        name = name, kind = 12,
        location = { uri = files.uri(path), range = {
          start = { line = number - 1, character = from },
          ["end"] = { line = number - 1, character = from + #name },
        } },
      }
    end
  end
end

session.method("workspace/symbol", function(params, self)
  local found = rpc.array {}
  files.each(files.path(self.root), function(path)
    symbols(path, params.query:lower(), found)
  end)
  return found
end)
