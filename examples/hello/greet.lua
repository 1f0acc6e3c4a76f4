-- A file that returns a function is a method itself: greet. It uses a private
-- helper: files and directories that begin with "_" are no methods.
local words = require "_lib.words"

return function(name, greeting)
  return ("%s, %s!"):format(words.capitalize(greeting or "hello"), name)
end
