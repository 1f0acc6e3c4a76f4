-- Texts as the protocol sees them: lines and columns count from 0, columns in
-- units of UTF-16.
local text = {}

-- The line's first byte, and the one behind its last.
local function bounds(source, line)
  local from = 1
  for _ = 1, line do
    from = (source:find("\n", from, true) or #source) + 1
  end
  return from, source:find("\n", from, true) or #source + 1
end

-- The byte at a position; one beyond the line's end is the end.
local function offset(source, position)
  local at, stop = bounds(source, position.line)
  local units = position.character
  while units > 0 and at < stop do
    units = units - (utf8.codepoint(source, at) > 0xFFFF and 2 or 1)
    at = utf8.offset(source, 2, at)
  end
  return at
end

-- The length of a line.
local function units(line)
  local count = 0
  for _, code in utf8.codes(line) do count = count + (code > 0xFFFF and 2 or 1) end
  return count
end

-- Applies a change: of a range, or of everything.
function text.edit(source, change)
  local range = change.range
  if not range then return change.text end
  return source:sub(1, offset(source, range.start) - 1) .. change.text
    .. source:sub(offset(source, range["end"]))
end

-- The part of the line before a position, and that behind it.
function text.before(source, position)
  return source:sub(bounds(source, position.line), offset(source, position) - 1)
end

function text.after(source, position)
  local _, stop = bounds(source, position.line)
  return source:sub(offset(source, position), stop - 1)
end

-- The blanks at the ends of lines, as edits that remove them.
function text.trim(source)
  local edits, number = rpc.array {}, 0
  for line in source:gmatch("([^\n]*)\n?") do
    local kept = line:match("^.*%S") or ""
    if kept ~= line then
      edits[#edits + 1] = { newText = "", range = {
        start = { line = number, character = units(kept) },
        ["end"] = { line = number, character = units(line) },
      } }
    end
    number = number + 1
  end
  return edits
end

-- A whole line, counted from 1 as Lua does.
function text.line_range(line)
  return {
    start = { line = line - 1, character = 0 },
    ["end"] = { line = line, character = 0 },
  }
end

return text
