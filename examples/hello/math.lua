-- A module: its functions are math.subtract, math.divide. Params may be
-- positional or named.
local math = {}

function math.subtract(minuend, subtrahend)
  return minuend - subtrahend
end

function math.divide(dividend, divisor)
  if divisor == 0 then
    rpc.error(-32000, "division by zero", { dividend = dividend })
  end
  return dividend / divisor
end

return math
