-- What the guide for method authors shows is true: its files are written, served
-- and called exactly as they stand in lua/README.md.
local support = require "support"
local files, json, program = support.files, support.json, support.program

local GUIDE = "lua/README.md"

-- The blocks of a Markdown text: language and content.
local function blocks(text)
  return text:gmatch("```(%w+)\n(.-)\n```")
end

-- The files of the guide, and its commands with what they print.
local function read_guide()
  local tree, calls = {}, {}
  for language, content in blocks(files.read(GUIDE)) do
    local name = content:match("^%-%- file: (%S+)\n")
    if language == "lua" and name then
      tree[name] = content .. "\n"
    elseif language == "console" then
      for command, output in (content .. "\n$ "):gmatch("%$ (.-)\n(.-)\n?%f[$]") do
        calls[#calls + 1] = { command = command, output = output }
      end
    end
  end
  return tree, calls
end

-- What a command prints, whichever way.
local function run(command, url)
  local line = command:gsub("^moonrpc", '"$MOONRPC"'):gsub("URL", url)
  local _, out, err = program.run({ "-c", line },
    { path = "/bin/sh", env = { MOONRPC = program.path } })
  return ((out ~= "" and out or err):gsub("\n$", ""))
end

local function normal(text)
  local ok, canonical = pcall(json.canonical, text)
  return ok and canonical or text
end

describe("the guide for method authors", function()
  local tree, calls = read_guide()
  local server

  setup(function() server = support.serve(tree) end)
  teardown(support.clean)

  it("has something to show", function()
    assert.is_true(#calls > 10)
  end)

  for _, call in ipairs(calls) do
    it("is right: " .. call.command, function()
      assert.equal(normal(call.output), normal(run(call.command, server.urls[1])))
    end)
  end
end)
