-- One server for all tests of a file, and what is said to it over HTTP.
local support = require "support"
local conn, wire = support.conn, support.wire

local web = {}

local server

-- For setup: serves the methods of dialogues. `web.url` is the address,
-- `web.port` the port of it.
function web.start()
  server = support.serve "tests/spec/methods"
  web.url = server.urls[1]
  web.port = conn.parse(web.url).port
end

-- For after_each: the server must have survived the test.
function web.check()
  conn.clean()
  assert(not server.code, "the program has ended: " .. server.err)
end

-- Sends bytes on a fresh connection: the response, and the connection.
---@param bytes string
---@param method string?
---@return table, Conn
function web.exchange(bytes, method)
  local connection = conn.open(web.url):send(bytes)
  return wire.http.read(connection, nil, method), connection
end

-- The same with one request.
---@param text string?
---@param fields table?
---@param line string?
---@return table, Conn
function web.post(text, fields, line)
  return web.exchange(wire.http.wrap(text, fields, line))
end

return web
