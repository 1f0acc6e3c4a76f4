-- Commands that change documents. The text is the editor's: we call it to make
-- the change, and our answer is what it answered. If the command is cancelled
-- meanwhile, so is our call.
local session = require "_lib.session"
local text = require "_lib.text"

session.method("workspace/executeCommand", function(params, self)
  local uri = params.arguments and params.arguments[1]
  local document = self.documents[uri or ""]
  if params.command ~= "trim" then rpc.error(-32602, "the only command is trim") end
  if not document then rpc.error(-32602, "the URI of an open document is needed") end
  return rpc.peer():call("workspace/applyEdit", {
    label = "Trim ends of lines", edit = { changes = { [uri] = text.trim(document.text) } },
  })
end)
