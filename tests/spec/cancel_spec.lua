-- Cancelled calls, as their Lua code sees it.
local cjson = require "cjson"
local support = require "support"
local client = support.client

after_each(support.clean)

local WORK = [[
  local M, kept = {}, rpc.state("kept")
  function M.hang() rpc.sleep(1000) end
  function M.seen() return kept.seen end
  function M.closes()
    kept.seen = rpc.array {}
    local x <close> = setmetatable({}, { __close = function(_, e)
      table.insert(kept.seen, rawequal(e, rpc.cancelled))
      table.insert(kept.seen, rpc.is_cancelled())
    end })
    rpc.sleep(1000)
  end
  function M.catches()
    kept.seen = rpc.array {}
    for i = 1, 3 do
      local ok, e = pcall(rpc.sleep, 1000)
      kept.seen[i] = not ok and rawequal(e, rpc.cancelled)
    end
    return "a result all the same"
  end
  function M.looks()
    kept.seen = rpc.array {}
    local uv = require "luv"
    local stop
    rpc.after(0.02, function() stop = true end)
    while not rpc.is_cancelled() and not stop do
      pcall(rpc.sleep, 0)
    end
    kept.seen[1] = rpc.is_cancelled()
    return 1
  end
  function M.calls_back()
    -- It waits for a call of its own caller's, which cancels meanwhile.
    local ok, e = pcall(function() return rpc.peer():call("back") end)
    kept.seen = { ok = ok, cancelled = rawequal(e, rpc.cancelled) }
    error(e)
  end
  return M]]

local kinds = {
  { method = "$/cancelRequest", member = "id", answers = true },
  { method = "notifications/cancelled", member = "requestId", answers = false },
}

for _, kind in ipairs(kinds) do
  describe("a cancel by " .. kind.method, function()
    local there

    local function send(method, id) there.session:send(client.request(method, nil, id)) end

    local function cancel(id)
      there.session:send(client.request(kind.method, ('{"%s":%s}'):format(kind.member, id)))
    end

    -- What the caller hears of a call that it has cancelled.
    local function expect_end(id)
      if not kind.answers then return end
      local answer = cjson.decode((there.session:next()))
      assert.same({ jsonrpc = "2.0", id = id,
        error = { code = -32800, message = "Request cancelled" } }, answer)
    end

    -- What the method has noted, once it has.
    local function seen()
      return support.loop.wait(function()
        local list = there:result("seen")
        return #list > 0 and list
      end)
    end

    before_each(function()
      there = support.serve_client({ ["init.lua"] = WORK }, { listen = { "tcp://127.0.0.1:0" } })
    end)

    it("ends a wait", function()
      send("hang", 1)
      cancel(1)
      expect_end(1)
      assert.equal(cjson.null, there:result("seen"))
    end)

    it("runs <close> with rpc.cancelled", function()
      send("closes", 1)
      cancel(1)
      expect_end(1)
      assert.same({ true, true }, seen())
    end)

    it("ends every later wait too", function()
      send("catches", 1)
      cancel(1)
      if kind.answers then assert.matches('"result":"a result', (there.session:next())) end
      assert.same({ true, true, true }, seen())
    end)

    it("is seen by rpc.is_cancelled", function()
      send("looks", 1)
      cancel(1)
      if kind.answers then there.session:next() end
      assert.same({ true }, seen())
    end)

    it("of what has ended, twice, or of nothing is fine", function()
      cancel(77)
      cancel('"x"')
      assert.equal(cjson.null, there:result("seen"))
      send("hang", 1)
      cancel(1)
      cancel(1)
      expect_end(1)
      cancel(1)
      assert.equal(cjson.null, there:result("seen"))
    end)

    it("ends one entry of a batch", function()
      there.session:send(("[%s,%s]"):format(client.request("hang", nil, 1),
        client.request("seen", nil, 2)))
      cancel(1)
      local answers = cjson.decode((there.session:next()))
      local ids = {}
      for _, answer in ipairs(answers) do ids[#ids + 1] = answer.id end
      assert.same(kind.answers and { 1, 2 } or { 2 }, ids)
    end)

    it("ends a call that waits for the one who cancels", function()
      send("calls_back", 1)
      local call = cjson.decode((there.session:next()))
      cancel(1)
      local told = cjson.decode((there.session:next()))
      if told.id then told = cjson.decode((there.session:next())) else expect_end(1) end
      assert.equal(kind.method, told.method)
      assert.equal(call.id, told.params[kind.member])
      assert.same({ ok = false, cancelled = true }, there:result("seen"))
    end)
  end)
end
