-- examples/lsp: what an editor and the language server say to each other.
-- tests/clients has real editors do the same.
local cjson = require "cjson"
local support = require "support"
local client, conn, files, transports = support.client, support.conn, support.files,
  support.transports

local URI = "file:///work/hello.lua"

-- A server on stdio and a client that speaks to it.
local function start()
  local self = support.serve("examples/lsp", { listen = { "stdio:?framing=header" }, stdin = true })
  return client.over(transports.stream(conn.stdio(self), "header")), self
end

local function params(fields)
  return cjson.encode(fields)
end

local function place(line, character)
  return { textDocument = { uri = URI }, position = { line = line, character = character } }
end

describe("the language server", function()
  local editor, server

  before_each(function() editor, server = start() end)
  after_each(support.clean)

  local function initialize(root)
    return editor:result("initialize", params { processId = 1, rootUri = root or cjson.null,
      capabilities = {} })
  end

  -- Sends a notification about the document, and waits for its diagnostics.
  local function diagnostics_after(method, fields)
    editor:notify("textDocument/" .. method, params(fields))
    local told = cjson.decode(editor.session:next())
    assert.equal("textDocument/publishDiagnostics", told.method)
    assert.equal(URI, told.params.uri)
    return told.params.diagnostics, told.params
  end

  local function open(text)
    return diagnostics_after("didOpen",
      { textDocument = { uri = URI, languageId = "lua", version = 1, text = text } })
  end

  local function change(changes)
    return diagnostics_after("didChange",
      { textDocument = { uri = URI, version = 2 }, contentChanges = changes })
  end

  local function complete(line, character)
    local labels = {}
    local items = editor:result("textDocument/completion", params(place(line, character)))
    for _, item in ipairs(items) do
      labels[#labels + 1] = item.label
    end
    return labels
  end

  it("wants initialize first, and once", function()
    assert.equal(-32002, editor:failure("textDocument/hover", params(place(0, 0))).code)
    assert.equal(-32002, editor:failure("shutdown").code)
    assert.equal(2, initialize().capabilities.textDocumentSync.change)
    assert.equal(-32600, editor:failure("initialize", params { capabilities = {} }).code)
  end)

  it("tells where a document is wrong, until it is mended", function()
    initialize()
    local faults, told = open("local x = 1\nlocal = 2\n")
    assert.equal(1, told.version)
    assert.equal(1, #faults)
    assert.same({ line = 1, character = 0 }, faults[1].range.start)
    assert.equal("<name> expected near '='", faults[1].message)
    local from = { line = 1, character = 6 }
    faults, told = change { { range = { start = from, ["end"] = from }, text = "y " } }
    assert.same({ 2, {} }, { told.version, faults })
    assert.same({}, diagnostics_after("didClose", { textDocument = { uri = URI } }))
    assert.equal(-32602, editor:failure("textDocument/hover", params(place(0, 0))).code)
  end)

  it("takes changes beyond a line's end and behind the last line", function()
    initialize()
    open("a")
    local far = { line = 9, character = 9 }
    assert.same({}, change {
      { range = { start = { line = 0, character = 99 }, ["end"] = far }, text = " = 1\nstr" },
      { range = { start = far, ["end"] = far }, text = " = 2" },
      { range = { start = { line = 1, character = 3 }, ["end"] = { line = 1, character = 3 } },
        text = "ing" },
    })
    assert.matches("^`string`: table", editor:result("textDocument/hover",
      params(place(1, 2))).contents.value)
  end)

  it("counts columns in units of UTF-16", function()
    initialize()
    open('local s = "𝄞ö" .. str')
    assert.same({ "string" }, complete(0, 22))
    change { { text = "",
      range = { start = { line = 0, character = 11 }, ["end"] = { line = 0, character = 14 } } } }
    assert.same({ "string" }, complete(0, 19))
  end)

  it("completes and explains what this Lua has", function()
    initialize()
    open("#!/usr/bin/lua\nlocal foobar = string.f\nfo\n = rpc.sl\nx = nothing.")
    assert.same({ "find", "format" }, complete(1, 23))
    assert.same({ "foobar", "for" }, complete(2, 2))
    assert.same({ "sleep" }, complete(3, 9))
    assert.same({}, complete(4, 12))
    assert.equal(cjson.null, editor:result("textDocument/hover", params(place(1, 8))))
  end)

  it("calls the editor to change a document, and answers what it did", function()
    initialize()
    open("local a  \n-- 𝄞\t\n\nreturn a")
    editor.session:send(client.request("workspace/executeCommand",
      params { command = "trim", arguments = { URI } }, 1))
    local call = cjson.decode(editor.session:next())
    assert.equal("workspace/applyEdit", call.method)
    local edits = call.params.edit.changes[URI]
    assert.equal(2, #edits)
    assert.same({ line = 0, character = 7 }, edits[1].range.start)
    assert.same({ line = 1, character = 6 }, edits[2].range["end"])
    editor.session:send(params { jsonrpc = "2.0", id = call.id, result = { applied = true } })
    assert.same({ applied = true }, cjson.decode(editor.session:next()).result)
  end)

  it("finds functions in the files below the root", function()
    local root = files.temp { ["a b/c.lua"] = "x = '\xff'\nlocal function greet() end",
      ["d.lua"] = "function M.Greet() end function M.greet() end",
      ["e.txt"] = "function greet() end" }
    initialize("file://" .. root)
    local found = editor:result("workspace/symbol", params { query = "greet" })
    table.sort(found, function(a, b) return a.name < b.name end)
    assert.equal(2, #found)
    assert.equal("M.Greet", found[1].name)
    assert.equal("file://" .. root .. "/a%20b/c.lua", found[2].location.uri)
    assert.same({ line = 1, character = 0 }, found[2].location.range.start)
    assert.same({}, editor:result("workspace/symbol", params { query = "nobody" }))
  end)

  it("finds nothing where there is no root", function()
    initialize()
    assert.same({}, editor:result("workspace/symbol", params { query = "" }))
  end)

  it("tells how far a search is to those who ask", function()
    initialize("file://" .. files.temp { ["a.lua"] = "" })
    editor.session:send(client.request("workspace/symbol",
      params { query = "", workDoneToken = "t" }, 1))
    local kinds = {}
    for i = 1, 3 do
      local told = cjson.decode(editor.session:next())
      assert.same({ "$/progress", "t" }, { told.method, told.params.token })
      kinds[i] = told.params.value.kind
    end
    assert.same({ "begin", "report", "end" }, kinds)
    assert.same({}, cjson.decode(editor.session:next()).result)
  end)

  it("searches what is a file, whatever its name", function()
    local dir = files.temp { ["\xff.lua"] = "function odd() end" }
    assert(os.execute("mkfifo " .. dir .. "/pipe.lua"))
    initialize("file://" .. dir)
    local found = editor:result("workspace/symbol", params { query = "" })
    assert.equal("odd", found[1].name)
    assert.matches("/%%FF%.lua$", found[1].location.uri)
    editor.session:send(client.request("workspace/symbol",
      params { query = "", workDoneToken = "t" }, 1))
    editor.session:next()
    assert.matches("/%%FF%.lua$", cjson.decode(editor.session:next()).params.value.message)
  end)

  it("shuts down, then exits with 0", function()
    initialize()
    assert.equal(cjson.null, editor:result("shutdown"))
    assert.equal(-32600, editor:failure("textDocument/hover", params(place(0, 0))).code)
    editor:notify("exit")
    assert.equal(0, (server:wait_exit()))
  end)

  it("exits with 1 when nobody has shut it down", function()
    initialize()
    editor:notify("exit")
    assert.equal(1, (server:wait_exit()))
  end)
end)

describe("the language server, changed while an editor runs", function()
  after_each(support.clean)

  it("goes on with the documents that are open", function()
    local tree = {}
    for _, name in ipairs { "init", "document", "_lib/lua", "_lib/session", "_lib/text" } do
      tree[name .. ".lua"] = files.read("examples/lsp/" .. name .. ".lua")
    end
    local server = support.serve(tree, { listen = { "tcp://127.0.0.1:0" }, watch = true })
    local editor = client.open(server.urls[1])
    editor:result("initialize", params { capabilities = {} })
    editor:notify("textDocument/didOpen", params { textDocument = { uri = URI, text = "math.p" } })
    editor.session:next()
    files.write(server.dir .. "/_lib/lua.lua",
      (tree["_lib/lua.lua"]:gsub("detail = detail", 'detail = "new: " .. (detail or "")')))
    server:wait_log("loaded.*generation=2")
    local items = editor:result("textDocument/completion", params(place(0, 6)))
    assert.same({ "pi", "new: number" }, { items[1].label, items[1].detail })
  end)
end)

describe("the language server on a socket", function()
  after_each(support.clean)

  it("keeps editors apart, and goes on when one leaves", function()
    local server = support.serve("examples/lsp",
      { listen = { "tcp://127.0.0.1:0?framing=header" } })
    local one = client.open(server.urls[1], "header")
    local other = client.open(server.urls[1], "header")
    one:result("initialize", params { capabilities = {} })
    assert.equal(-32002, other:failure("shutdown").code)
    one:result("shutdown")
    one:notify("exit")
    assert.equal("", one.session.connection:rest())
    other:result("initialize", params { capabilities = {} })
    assert.equal(cjson.null, other:result("shutdown"))
    assert.is_nil(server.code)
  end)
end)
