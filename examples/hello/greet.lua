-- A file that returns a function is a method itself: greet. It uses a private
-- helper: files and directories that begin with "_" are no methods.
local words = require "_lib.words"

return function(name, greeting)
  if not name then rpc.error(-32602, "name is missing") end
  return ("%s, %s!"):format(words.capitalize(greeting or "hello"), name)
end
