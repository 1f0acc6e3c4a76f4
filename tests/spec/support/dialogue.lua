-- Reads tests/dialogue/*.txt. `--> text` is sent, the `<-- json` lines behind it
-- are what comes back, the `<== json` lines what the host says of its own;
-- lines that begin with four spaces go on with the one above and are joined to
-- it by a space; `#` and empty lines are prose.
local uv = require "luv"

local dialogue = {}

dialogue.folder = "tests/dialogue"

---@class Step
---@field send string
---@field expect string[] empty: silence

---@param path string
---@return Step[]
---@return boolean has_calls some messages are the host's own
function dialogue.read(path)
  local steps, last, number, has_calls = {}, nil, 0, false
  for line in io.lines(path) do
    number = number + 1
    local arrow, text = line:match("^([-<][-=][->=]) (.*)$")
    if arrow == "-->" then
      last = { send = text, expect = {} }
      steps[#steps + 1] = last
    elseif (arrow == "<--" or arrow == "<==") and last then
      last.expect[#last.expect + 1] = text
      has_calls = has_calls or arrow == "<=="
    elseif line:find("^    ") and last then
      local list, more = last.expect, " " .. line:match("^ +(.*)$")
      if #list > 0 then
        list[#list] = list[#list] .. more
      else
        last.send = last.send .. more
      end
    elseif line ~= "" and line:sub(1, 1) ~= "#" then
      error(("%s:%d: neither an arrow nor prose"):format(path, number))
    end
  end
  return steps, has_calls
end

-- The files, sorted.
---@return string[]
function dialogue.files()
  local list = {}
  local scan = assert(uv.fs_scandir(dialogue.folder))
  for name in function() return uv.fs_scandir_next(scan) end do
    if name:find("%.txt$") then list[#list + 1] = dialogue.folder .. "/" .. name end
  end
  table.sort(list)
  return list
end

return dialogue
