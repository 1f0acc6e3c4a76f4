-- All that a spec needs, in one table; `support.clean` belongs into after_each.
local support = {
  loop = require "support.loop",
  files = require "support.files",
  program = require "support.program",
  conn = require "support.conn",
  wire = require "support.wire",
  json = require "support.json",
  transports = require "support.transports",
  client = require "support.client",
}

-- Serves a directory with these files (or the directory named), without
-- watching it. `config`: the text of a config file, without its `return`.
---@param tree table<string, string>|string
---@param options table? listen, args, stdin, env, under, log: as in program.serve;
--- dev, watch, config
---@return Program
function support.serve(tree, options)
  options = options or {}
  local dir = type(tree) == "string" and tree or support.files.temp(tree)
  local args = {}
  if options.dev then args[#args + 1] = "--dev" end
  if not options.watch then args[#args + 1] = "--no-watch" end
  if options.config then
    local path = support.files.temp { ["config.lua"] = "return " .. options.config }
    args[#args + 1] = "--config"
    args[#args + 1] = path .. "/config.lua"
  end
  table.move(options.args or {}, 1, #(options.args or {}), #args + 1, args)
  local self = support.program.serve(dir, {
    listen = options.listen, args = args, stdin = options.stdin, env = options.env,
    under = options.under, log = options.log,
  })
  self.dir = dir
  return self
end

-- Serves as above on one listener and connects a client to it.
---@return Client, Program
function support.serve_client(tree, options)
  local self = support.serve(tree, options)
  local there = support.client.open(self.urls[1])
  there.program = self
  return there, self
end

-- Ends every program, closes every connection, removes every directory.
function support.clean()
  support.conn.clean()
  support.program.clean()
  support.files.clean()
end

return support
