-- Open documents: what is wrong with them, and what may come next.
local lua = require "_lib.lua"
local session = require "_lib.session"
local text = require "_lib.text"

-- One after another for each editor: a change is through before the next
-- question about it.
rpc.serial()

local function publish(document, faults)
  rpc.peer():notify("textDocument/publishDiagnostics", {
    uri = document.uri, version = document.version, diagnostics = faults,
  })
end

local function diagnose(document)
  local line, message = lua.check(document.text)
  if not line then return publish(document, rpc.array {}) end
  publish(document, { {
    range = text.line_range(line), severity = 1, source = "lua", message = message,
  } })
end

local function find(self, params)
  local uri = params.textDocument.uri
  return self.documents[uri] or rpc.error(-32602, uri .. " isn't open")
end

session.method("textDocument/didOpen", function(params, self)
  local document = params.textDocument
  self.documents[document.uri] = document
  diagnose(document)
end)

session.method("textDocument/didChange", function(params, self)
  local document = find(self, params)
  document.version = params.textDocument.version
  for _, change in ipairs(params.contentChanges) do
    document.text = text.edit(document.text, change)
  end
  diagnose(document)
end)

session.method("textDocument/didClose", function(params, self)
  local document = find(self, params)
  self.documents[document.uri] = nil
  publish(document, rpc.array {})
end)

session.method("textDocument/completion", function(params, self)
  local document = find(self, params)
  local before = text.before(document.text, params.position)
  return lua.complete(before:match("[%w_.]*$"), document.text)
end)

session.method("textDocument/hover", function(params, self)
  local document = find(self, params)
  local before = text.before(document.text, params.position)
  local after = text.after(document.text, params.position)
  local about = lua.describe(before:match("[%w_.]*$") .. after:match("^[%w_]*"))
  return about and { contents = { kind = "markdown", value = about } } or rpc.null
end)
