-- Flow control and order on the built program: limits stop reading and resume,
-- nothing is lost, and what one peer sends is started in the order sent.
local cjson = require "cjson"
local support = require "support"
local client, conn, loop = support.client, support.conn, support.loop
local transports = support.transports

local METHODS = {
  ["init.lua"] = [[
    local M, order = {}, {}
    -- Each start is noted; a nap lets others start before it has ended.
    function M.mark(n, nap)
      order[#order + 1] = n
      if nap then rpc.sleep(nap) end
      return n
    end
    function M.order()
      local all = rpc.array(order)
      order = {}
      return all
    end
    function M.text(n, size) order[#order + 1] = n return ("x"):rep(size) end
    function M.started() return #order end
    function M.ask() return rpc.peer():call("question") end
    function M.hang() rpc.sleep(50) end
    local is_open = false
    function M.gate() while not is_open do rpc.sleep(0.002) end end
    function M.open() is_open = true end
    return M]],
}

local ways = {
  { name = "tcp, by line", url = "tcp://127.0.0.1:0?framing=line", framing = "line" },
  { name = "tcp, by header", url = "tcp://127.0.0.1:0?framing=header", framing = "header" },
  { name = "WebSocket", url = "http://127.0.0.1:0", framing = "ws" },
  { name = "stdio", url = "stdio:?framing=line", framing = "line" },
}

local server, session, other

-- The session on the way, and another client beside it.
local function open(way, limits)
  local is_stdio = way.name == "stdio"
  server = support.serve(METHODS, { listen = { way.url, "tcp://127.0.0.1:0" }, stdin = is_stdio,
    config = "{ limits = { " .. limits .. " } }" })
  session = is_stdio and transports.stream(conn.stdio(server), way.framing)
    or transports.open(server.urls[1], way.framing)
  other = client.open(server.urls[#server.urls])
end

local function request(method, params, id) return client.request(method, params, id) end

local function hear() return cjson.decode((session:next())) end

-- A message of some entries: singles, notifications, batches of both. Returns
-- its text and the next number.
local function message(n, naps)
  local function entry()
    n = n + 1
    local params = ("[%d,%s]"):format(n, naps and n % 5 == 0 and "0.002" or "null")
    return request("mark", params, n % 3 > 0 and n or nil)
  end
  if n % 4 > 0 then return entry(), n end
  local entries = {}
  for i = 1, 1 + n % 7 do entries[i] = entry() end
  return "[" .. table.concat(entries, ",") .. "]", n
end

-- All answers that come, batches taken apart, until `count` are there.
local function gather(count)
  local seen, got = {}, 0
  while got < count do
    local answers = hear()
    if answers.id then answers = { answers } end
    for _, answer in ipairs(answers) do
      assert.is_nil(seen[answer.id], "answered twice")
      assert.equal(answer.id, answer.result)
      seen[answer.id] = true
      got = got + 1
    end
  end
  return seen
end

local function keeps_order(way)
  it("starts what is sent in its order, over the pauses of limits.in_flight", function()
    open(way, "in_flight = 3")
    local n, asked = 0, 0
    while n < 300 do
      local text
      text, n = message(n, true)
      session:send(text)
    end
    for i = 1, n do if i % 3 > 0 then asked = asked + 1 end end
    local seen = gather(asked)
    for i = 1, n do assert.equal(i % 3 > 0 or nil, seen[i]) end
    local want = {}
    for i = 1, n do want[i] = i end
    loop.wait(function() return other:result("started") >= n end, nil, "the last start")
    assert.same(want, other:result("order"))
  end)
end

local function stops_and_resumes(way)
  it("isn't read beyond limits.in_flight until a call has ended", function()
    open(way, "in_flight = 2")
    session:send(request("gate", nil, 1))
    session:send(request("gate", nil, 2))
    session:send(request("mark", "[1]"))
    session:send(request("mark", "[2]", 3))
    for _ = 1, 20 do assert.equal(0, other:result("started")) end
    other:result("open")
    local seen = {}
    for _ = 1, 3 do seen[hear().id] = true end
    assert.same({ true, true, true }, seen)
    assert.same({ 1, 2 }, other:result("order"))
  end)
end

local function asks(way)
  it("is read on while the host waits for it; what is too much is refused", function()
    open(way, "in_flight = 2")
    session:send(request("ask", nil, 1))
    session:send(request("hang", nil, 2))
    local question = hear()
    assert.equal("question", question.method)
    session:send(request("mark", "[1]", 3))
    assert.equal(-32050, hear().error.code)
    session:send(request("mark", "[2]"))
    session:send(request("$/cancelRequest", '{"id":2}'))
    local cancelled = hear()
    assert.equal(2, cancelled.id)
    assert.equal(-32800, cancelled.error.code)
    session:send(('{"jsonrpc":"2.0","result":"answer","id":%d}'):format(question.id))
    local answer = hear()
    assert.equal("answer", answer.result)
    session:send(request("mark", "[3]", 4))
    assert.equal(3, hear().result)
    assert.same({ 2, 3 }, other:result("order"))
  end)
end

-- Who doesn't read his answers.
local function stuffed(way)
  it("isn't read at limits.output, and all comes when it reads again", function()
    local MANY, SIZE = 2500, 4000
    open(way, "output = 65536, write_time = 60, in_flight = 8")
    local connection = session.connection
    connection:pause()
    for n = 1, MANY do
      local call = request("text", ("[%d,%d]"):format(n, SIZE), n)
      session:send(call:sub(1, -2) .. ',"x":"' .. ("x"):rep(SIZE) .. '"}')
    end
    local before
    loop.wait(function()
      local last = before
      before = other:result("started")
      return before > 0 and before == last
    end, nil, "the end of reading")
    assert.is_true(before < MANY, "it took all")
    local pieces, bytes = {}, 0
    connection.reader:read_start(function(_, data)
      pieces[#pieces + 1] = data
      bytes = bytes + #(data or "")
    end)
    loop.wait(function()
      return bytes >= MANY * SIZE and pieces[#pieces]:find('"id":2500}', 1, true)
    end, 60, "all answers")
    local ids, want = {}, {}
    for id in table.concat(pieces):gmatch('"id":(%d+)}') do ids[#ids + 1] = tonumber(id) end
    for n = 1, MANY do want[n] = n end
    assert.same(want, ids)
    assert.same(want, other:result("order"))
  end)
end

for _, way in ipairs(ways) do
  describe("a peer on " .. way.name, function()
    after_each(support.clean)
    keeps_order(way)
    stops_and_resumes(way)
    asks(way)
    stuffed(way)
  end)
end
