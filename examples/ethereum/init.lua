-- What a wallet or a library asks a node. Numbers are hexadecimal text; the
-- block that a question is about (`_`) doesn't matter on this chain.
local chain = require "_lib.chain"
local token = require "_lib.token"

local node = {}

local function hex(number) return ("0x%x"):format(number) end

function node.eth_chainId() return hex(chain.id) end

function node.net_version() return tostring(chain.id) end

function node.web3_clientVersion() return "moonrpc/" .. rpc.version end

function node.eth_blockNumber() return hex(chain.head().number) end

-- An unknown block is null, no error. No block has transactions to show.
function node.eth_getBlockByNumber(tag, _)
  local block = chain.block(tag)
  return block and chain.describe(block)
end

function node.eth_getBalance(address, _)
  return chain.balances[address:lower()] or "0x0"
end

function node.eth_call(call, _)
  if not call or not call.to or call.to:lower() ~= token.address then return "0x" end
  return token.run(call.data or call.input or "0x")
end

-- As test nodes have it: a block now, not when its time comes.
function node.evm_mine()
  chain.mine()
  return "0x0"
end

return node
