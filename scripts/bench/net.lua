-- SPDX-License-Identifier: MIT
-- Little clients for checks and for figures that need no load: one exchange
-- by HTTP, and a line of JSON there and back.
local uv = require "luv"

local net = {}

function net.free_port()
  local tcp = uv.new_tcp()
  assert(tcp:bind("127.0.0.1", 0))
  local port = tcp:getsockname().port
  tcp:close()
  uv.run("nowait")
  return port
end

-- Runs the loop until `finished` holds or the deadline passes.
local function run_until(seconds, finished)
  local timer, late = uv.new_timer(), false
  timer:start(seconds * 1000 // 1 | 0, 0, function() late = true end)
  while not finished() and not late do uv.run("once") end
  timer:close()
  return not late
end

local function open(port)
  local tcp, result = uv.new_tcp(), nil
  tcp:connect("127.0.0.1", port, function(err) result = err or true end)
  run_until(5, function() return result ~= nil end)
  if result == true then return tcp end
  tcp:close()
  return nil, result or "connecting takes too long"
end

-- Sends text and reads until `complete(received)` returns a value.
local function exchange(tcp, text, complete, seconds)
  local received, value, failure = "", nil, nil
  tcp:read_start(function(err, chunk)
    received = received .. (chunk or "")
    value = complete(received)
    if not value and not chunk then failure = err or "closed" end
  end)
  tcp:write(text)
  local in_time = run_until(seconds or 10, function() return value or failure end)
  if not tcp:is_closing() then tcp:read_stop() end
  return value, failure or (not in_time and "no answer in time" or nil)
end

local function http_answer(received)
  local head, body = received:match("^(.-\r\n\r\n)(.*)$")
  local length = head and tonumber(head:lower():match("content%-length: *(%d+)"))
  if not length or #body < length then return nil end
  return { body = body:sub(1, length), size = #head + length,
           status = tonumber(head:match("^HTTP/1.1 (%d+)")) }
end

--- Posts a body: { status, body, size = bytes of head and body }.
function net.post(port, body)
  local tcp, failure = open(port)
  if not tcp then return nil, failure end
  local text = ("POST / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
    .. "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s")
    :format(port, #body, body)
  local answer
  answer, failure = exchange(tcp, text, http_answer)
  tcp:close()
  uv.run("nowait")
  return answer, failure
end

--- A connection whose messages are lines: line:ask(text) -> answer.
function net.line(port)
  local tcp, failure = open(port)
  if not tcp then return nil, failure end
  return {
    ask = function(_, text, seconds)
      return exchange(tcp, text .. "\n", function(received)
        return received:match("^(.-)\n")
      end, seconds)
    end,
    close = function() tcp:close() uv.run("nowait") end,
  }
end

return net
