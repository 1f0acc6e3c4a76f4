-- A program with limits: what specs of them stand on.
local assert = require "luassert"
local support = require "support"
local client, conn, wire = support.client, support.conn, support.wire
local request = client.request

local bounds = {}

-- Dialogue methods; `text(n)` gives n bytes; `count` tells what was run.
bounds.METHODS = {
  ["init.lua"] = support.files.read("tests/spec/methods/init.lua"),
  ["text.lua"] = "return function(size) return ('x'):rep(size) end",
  ["doze.lua"] = "return function(seconds) rpc.sleep(seconds) return 'awake' end",
  ["count.lua"] = [[
    local M, n = {}, 0
    function M.up() n = n + 1 return n end
    function M.get() return n end
    return M]],
}

-- Serves with these limits (Lua text) on TCP and HTTP.
function bounds.serve(limits, more)
  return support.serve(bounds.METHODS, {
    listen = { "tcp://127.0.0.1:0", "http://127.0.0.1:0" },
    config = "{ limits = { " .. limits .. " } " .. (more or "") .. " }",
  })
end

function bounds.is_serving(self)
  for i = 1, 2 do
    assert.equal(19, client.open(self.urls[i]):result("subtract", "[42,23]"))
  end
end

-- A request of exactly `size` bytes.
function bounds.request_of(size)
  local frame = request("subtract", "[42,23]", '""')
  return request("subtract", "[42,23]", '"' .. ("i"):rep(size - #frame) .. '"')
end

function bounds.post(self, bytes)
  local connection = conn.open(self.urls[2]):send(bytes)
  return wire.http.read(connection), connection
end

-- Sanitizers keep freed memory for a while: then this isn't looked at.
function bounds.holds_less(bytes, most)
  return support.program.is_sanitized or bytes < most
end

return bounds
