-- A chain of empty blocks. It survives reloads; every two seconds it grows.
local heads = require "_lib.heads"

local chain = {
  id = 1337,
  balances = { -- in wei
    ["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"] = "0x21e19e0c9bab2400000", -- 10,000 ether
  },
}

local blocks = rpc.state("blocks")

-- A mock: numbers instead of hashes.
local function hash(number) return ("0x%064x"):format(number + 1) end

function chain.head() return blocks[#blocks] end

function chain.mine()
  local block = { number = #blocks, timestamp = os.time() }
  blocks[#blocks + 1] = block
  heads.publish(chain.describe(block))
end

-- A block by number or tag.
function chain.block(tag)
  if tag == "earliest" then return blocks[1] end
  local number = tonumber(tag)
  if number then return blocks[number + 1] end
  return chain.head() -- "latest", "pending", "safe", "finalized"
end

-- As JSON-RPC shows it.
function chain.describe(block)
  local number = block.number
  return {
    number = ("0x%x"):format(number),
    hash = hash(number),
    parentHash = hash(number - 1),
    timestamp = ("0x%x"):format(block.timestamp),
    nonce = "0x0000000000000000",
    difficulty = "0x0",
    gasLimit = "0x1c9c380",
    gasUsed = "0x0",
    baseFeePerGas = "0x3b9aca00",
    miner = "0x0000000000000000000000000000000000000000",
    extraData = "0x",
    transactions = rpc.array {},
  }
end

if #blocks == 0 then chain.mine() end
rpc.every(tonumber(os.getenv("BLOCK_SECONDS")) or 2, chain.mine)

return chain
