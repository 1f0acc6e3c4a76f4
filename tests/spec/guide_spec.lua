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

describe("the README", function()
  local text = files.read("README.md")
  after_each(support.clean)

  it("shows a file and its answer as they are", function()
    local source = text:match("```lua\n(%-%- examples/hello/math.lua\n.-)\n```")
    local request, answer = text:match("%$ curl %-d '(.-)' .-\n(.-)\n```")
    local self = support.serve { ["math.lua"] = source }
    assert.equal(answer, support.client.open(self.urls[1]):ask(request))
  end)

  it("shows a config file that is taken", function()
    local config = text:match("```lua\n(return {.-)\n```")
    local dir = files.temp { ["moonrpc.lua"] = config, ["methods/a.lua"] = "return { b = print }" }
    local self = program.start { "serve", "--config", dir .. "/moonrpc.lua",
      "--listen", "tcp://127.0.0.1:0" }
    self:wait_listening(1)
  end)

  it("has every limit in its table", function()
    local header = files.read("src/moonrpc.h")
    local limits = header:match("typedef struct mrpc_limits {\n(.-)\n}")
    for name in limits:gmatch("  %a[%w_]* ([%w_]+);") do
      assert.is_truthy(text:find("\n| `" .. name .. "` |", 1, true), name)
    end
    local websocket = header:match("typedef struct mrpc_websocket_config {\n(.-)\n}")
    for name in websocket:gmatch("  double ([%w_]+);") do
      assert.is_truthy(text:find("\n| `websocket." .. name .. "` |", 1, true), name)
    end
  end)
end)
