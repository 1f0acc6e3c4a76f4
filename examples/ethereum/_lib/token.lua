-- A contract: a token of which everybody has as much as his address ends in.
local token = { address = "0x5fbdb2315678afecb367f032d93f642f64180aa3" }

local function word(number) return ("0x%064x"):format(number) end

-- By the first four bytes of the call's data.
local functions = {
  ["0x18160ddd"] = function() return word(1000000) end, -- totalSupply()
  ["0x70a08231"] = function(data) return word(tonumber(data:sub(-4), 16)) end, -- balanceOf(address)
}

-- Error("no such function"), as Solidity encodes it.
local REVERTED = "0x08c379a0" .. ("%064x%064x"):format(32, 16)
  .. ("no such function"):gsub(".", function(c) return ("%02x"):format(c:byte()) end)
  .. ("0"):rep(32)

function token.run(data)
  local fn = functions[data:sub(1, 10)]
  if not fn then
    rpc.error(3, "execution reverted: no such function", REVERTED)
  end
  return fn(data)
end

return token
