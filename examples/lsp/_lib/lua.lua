-- What there is to know about Lua: asked of Lua itself, in which we run.
local lua = {}

local globals = package.loaded._G -- the real one; `_G` is this file's own

local keywords = {
  "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if",
  "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
}

-- CompletionItemKind of the protocol.
local KEYWORD, WORD = 14, 6
local kinds = { ["function"] = 3, table = 9 }

-- Line and message of the first syntax error; nil when there is none.
function lua.check(source)
  local _, fault = load(source:gsub("^#[^\n]*", ""), "=", "t")
  if not fault then return nil end
  local line, message = fault:match("^:(%d+): (.*)")
  return tonumber(line), message
end

-- The value that a path like "string.format" leads to; nil if none.
local function look_up(path)
  local value = globals
  for name in path:gmatch("[^.]+") do
    value = type(value) == "table" and rawget(value, name) or nil
  end
  return value
end

local function adder(items, stem)
  local seen = {}
  return function(label, kind, detail)
    if seen[label] or label == stem or label:sub(1, #stem) ~= stem then return end
    seen[label] = true
    items[#items + 1] = { label = label, kind = kind, detail = detail }
  end
end

-- What "string.fo" may become: members of a library; or else globals, keywords
-- and the words of the document.
function lua.complete(prefix, source)
  local items = rpc.array {}
  local path, stem = prefix:match("^(.-)%.?([^.]*)$")
  local add = adder(items, stem)
  local container = look_up(path)
  for name, value in pairs(type(container) == "table" and container or {}) do
    add(name, kinds[type(value)] or 21, type(value))
  end
  if path == "" then
    for _, word in ipairs(keywords) do add(word, KEYWORD) end
    for word in source:gmatch("[%a_][%w_]*") do add(word, WORD) end
  end
  table.sort(items, function(a, b) return a.label < b.label end)
  return items
end

-- A few words on a name, in Markdown; nil for one that Lua doesn't know.
function lua.describe(path)
  local value = path ~= "" and look_up(path)
  if value == nil or value == false then return nil end
  local what = type(value)
  if what ~= "function" and what ~= "table" then what = what .. " " .. tostring(value) end
  local about = ("`%s`: %s"):format(path, what)
  if path:find("^rpc%f[%W]") then return about end
  return ("%s\n\n[manual](https://www.lua.org/manual/5.4/manual.html#pdf-%s)"):format(about, path)
end

return lua
