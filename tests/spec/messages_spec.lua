-- What the program says when something is wrong: the words that help.
local support = require "support"
local files, program = support.files, support.program

local METHODS = "tests/spec/methods"

after_each(support.clean)

-- Expects that `text` holds each of the words.
local function holds(text, ...)
  for _, word in ipairs { ... } do
    assert.is_truthy(text:find(word, 1, true), ("%q in:\n%s"):format(word, text))
  end
end

describe("a fault in the config file", function()
  local function refuse(text)
    local path = files.temp { ["c.lua"] = text } .. "/c.lua"
    local code, _, err = program.run { "serve", METHODS, "--config", path }
    assert.equal(2, code, err)
    return err, path
  end

  it("is told with file and key, and without a word on usage", function()
    local err, path = refuse "return { http = { path = 'rpc' } }"
    assert.equal(("moonrpc serve: %s: http.path must begin with \"/\"\n"):format(path), err)
    err, path = refuse "return { listen = 'localhost:4000' }"
    holds(err, path .. ": listen: \"localhost:4000\": a URL must begin with http://")
  end)
end)
