-- Arithmetic may be asked for twice; a visit must not be counted twice.
local forward = require "_lib.forward"

local safe = { idempotent = true }

return {
  subtract = forward("calculator", "math.subtract", safe),
  divide = forward("calculator", "math.divide", safe),
  greet = forward("greeter", "greet", safe),
  visit = forward("counter", "visits"),
}
