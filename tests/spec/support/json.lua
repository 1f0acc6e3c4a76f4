-- JSON texts compared strictly: scalars byte for byte as they stand, arrays in
-- order, objects whatever the order of their members. Decoding a text and
-- comparing values would take 1.0 for 1 and "\u0041" for "A", which is what
-- the specs are here to tell apart.
local json = {}

local value -- a function; defined below

local function fail(text, at, what)
  error(("no JSON at byte %d: %s in %q"):format(at, what, text:sub(1, 500)), 0)
end

local function skip(text, at)
  return text:match("^[ \t\r\n]*()", at)
end

local scalars = {
  "^-?%d+%.?%d*[eE]?[+-]?%d*()", "^true()", "^false()", "^null()",
}

local function string_end(text, at)
  local from = at + 1
  while true do
    local stop, what = text:match('^[^"\\]*()(.)', from)
    if not stop then fail(text, at, "an unfinished string") end
    if what == '"' then return stop + 1 end
    from = stop + 2
  end
end

local function scalar(text, at)
  if text:sub(at, at) == '"' then
    local past = string_end(text, at)
    return text:sub(at, past - 1), past
  end
  for _, pattern in ipairs(scalars) do
    local past = text:match(pattern, at)
    if past then return text:sub(at, past - 1), past end
  end
  fail(text, at, "no value")
end

local function array(text, at)
  local items = {}
  at = skip(text, at + 1)
  if text:sub(at, at) == "]" then return "[]", at + 1 end
  while true do
    items[#items + 1], at = value(text, at)
    at = skip(text, at)
    local mark = text:sub(at, at)
    if mark == "]" then return "[" .. table.concat(items, ",") .. "]", at + 1 end
    if mark ~= "," then fail(text, at, "no comma") end
    at = at + 1
  end
end

local function member(text, at)
  at = skip(text, at)
  if text:sub(at, at) ~= '"' then fail(text, at, "no name") end
  local key, past = scalar(text, at)
  at = skip(text, past)
  if text:sub(at, at) ~= ":" then fail(text, at, "no colon") end
  local item, behind = value(text, at + 1)
  return key .. ":" .. item, behind
end

local function object(text, at)
  local members = {}
  at = skip(text, at + 1)
  if text:sub(at, at) == "}" then return "{}", at + 1 end
  while true do
    members[#members + 1], at = member(text, at)
    at = skip(text, at)
    local mark = text:sub(at, at)
    if mark == "}" then break end
    if mark ~= "," then fail(text, at, "no comma") end
    at = at + 1
  end
  table.sort(members)
  return "{" .. table.concat(members, ",") .. "}", at + 1
end

value = function(text, at)
  at = skip(text, at)
  local mark = text:sub(at, at)
  if mark == "[" then return array(text, at) end
  if mark == "{" then return object(text, at) end
  return scalar(text, at)
end

-- The text in a normal form: no white space, members sorted, scalars as they
-- are. Two texts are the same when these are equal. Raises for what is no JSON.
---@param text string
---@return string
function json.canonical(text)
  local result, past = value(text, 1)
  past = skip(text, past)
  if past <= #text then fail(text, past, "more after the end") end
  return result
end

-- Several texts in a normal form, whatever their order.
---@param texts string[]
---@return string
function json.canonical_set(texts)
  local list = {}
  for i, text in ipairs(texts) do list[i] = json.canonical(text) end
  table.sort(list)
  return table.concat(list, "\n")
end

return json
