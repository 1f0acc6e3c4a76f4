-- Times one of two JSON codecs on a document, inside one Lua state with one
-- setting of the collector: the host's own, or lua-cjson.
local cjson = require "cjson"

local codecs = {
  moonrpc = rpc.json,
  cjson = cjson,
}

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read("a")
end

local function time(work, input, seconds)
  local rounds, start = 0, os.clock()
  local elapsed
  repeat
    work(input)
    rounds = rounds + 1
    elapsed = os.clock() - start
  until elapsed >= seconds
  return elapsed / rounds
end

-- The same work with the collector kept out: stopped while the clock runs,
-- a whole collection between the rounds.
local function time_alone(work, input, seconds)
  local rounds, elapsed = 0, 0
  local deadline = os.clock() + 4 * seconds
  collectgarbage("stop")
  repeat
    local start = os.clock()
    work(input)
    elapsed = elapsed + os.clock() - start
    rounds = rounds + 1
    collectgarbage()
  until elapsed >= seconds or os.clock() >= deadline
  collectgarbage("restart")
  return elapsed / rounds
end

return {
  -- Seconds that one round of "decode" or "encode" takes.
  time = function(library, operation, path, seconds, alone)
    local codec = codecs[library]
    local input = read(path)
    if operation == "encode" then
      input = codec.decode(input)
    end
    collectgarbage()
    return (alone and time_alone or time)(codec[operation], input, seconds)
  end,
}
