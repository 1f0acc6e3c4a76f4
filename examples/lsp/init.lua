-- The life of a session: initialize, initialized ... shutdown, exit.
local server = {}

function server.initialize(params)
  local session = rpc.peer().data
  if session.state then rpc.error(-32600, "initialize comes once") end
  session.state = "running"
  session.root = params.rootUri ~= rpc.null and params.rootUri or nil
  session.documents = {}
  return {
    serverInfo = { name = "moonrpc examples/lsp", version = rpc.version },
    capabilities = {
      textDocumentSync = { openClose = true, change = 2 }, -- by ranges
      completionProvider = { triggerCharacters = { "." } },
      hoverProvider = true,
      executeCommandProvider = { commands = { "trim" } },
      workspaceSymbolProvider = { workDoneProgress = true },
    },
  }
end

function server.initialized() end

function server.shutdown()
  local session = rpc.peer().data
  if session.state ~= "running" then rpc.error(-32002, "initialize comes first") end
  session.state = "down"
end

-- An editor that has started us on stdio learns from the exit code whether all
-- went as it should; on a socket we serve others, too.
function server.exit()
  local peer = rpc.peer()
  if peer.transport == "stdio" then rpc.exit(peer.data.state == "down" and 0 or 1) end
  peer:close()
end

return server
