-- All that a spec needs, in one table; `support.clean` belongs into after_each.
local support = {
  loop = require "support.loop",
  files = require "support.files",
  program = require "support.program",
  conn = require "support.conn",
  wire = require "support.wire",
  json = require "support.json",
  transports = require "support.transports",
}

-- Ends every program, closes every connection, removes every directory.
function support.clean()
  support.conn.clean()
  support.program.clean()
  support.files.clean()
end

return support
