-- Methods that are served and called: what specs of them stand on.
local assert = require "luassert"
local support = require "support"
local json = support.json

local methods = {}

-- Serves these files; returns a client. Params and results are JSON text.
function methods.serve(tree, options)
  options = options or {}
  options.listen = options.listen or { "tcp://127.0.0.1:0" }
  return support.serve_client(tree, options)
end

function methods.gives(there, expected, method, params)
  assert.equal(json.canonical(expected), json.canonical(there:raw(method, params)), method)
end

function methods.fails(there, code, method, params)
  local failure = there:failure(method, params)
  assert.equal(code, failure.code, method .. ": " .. failure.message)
  return failure.message
end

return methods
