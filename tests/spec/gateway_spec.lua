-- examples/gateway: three backends on three transports, one of them down.
local support = require "support"
local client, files, program = support.client, support.files, support.program

local HELLO = "examples/hello"

describe("the gateway", function()
  local gateway, front, socket

  before_each(function()
    local calculator = support.serve(HELLO)
    socket = "unix:" .. files.temp() .. "/counter"
    gateway = support.serve("examples/gateway", { listen = { "tcp://127.0.0.1:0" }, env = {
      CALCULATOR = calculator.urls[1],
      GREETER = "exec:" .. program.path .. " serve " .. HELLO .. " --listen stdio:",
      COUNTER = socket,
    } })
    front = client.open(gateway:wait_log("^listening on tcp"):match("tcp:%S+"))
  end)
  after_each(support.clean)

  it("forwards to those that are up, and their errors back", function()
    assert.equal(19, front:result("subtract", "[42, 23]"))
    assert.equal(0.25, front:result("divide", '{"dividend": 1, "divisor": 4}'))
    assert.equal("Hello, Ada!", front:result("greet", '["Ada"]'))
    assert.same({ code = -32000, message = "division by zero", data = { dividend = 1 } },
      front:failure("divide", "[1, 0]"))
    assert.equal(-32602, front:failure("subtract", '{"x": 1}').code)
  end)

  it("says which one is down and why, while the others serve", function()
    front.session:send(client.request("visit", nil, 90))
    assert.equal(19, front:result("subtract", "[42, 23]"))
    local _, text = pcall(front.session.next, front.session)
    assert.matches('"message":"the counter is down"', text, 1, true)
    assert.matches("no such file or directory", text)
    local health = front:result("health")
    assert.equal("up", health.calculator)
    assert.equal("up", health.greeter)
    assert.matches("^down: Timed out: .*no such file or directory$", health.counter)
  end)

  it("serves the one that was down by the next call, however long it was", function()
    for _ = 1, 3 do assert.equal("the counter is down", front:failure("visit").message) end
    support.serve(HELLO, { listen = { socket } })
    assert.equal(1, front:result("visit"))
    assert.equal("up", front:result("health").counter)
  end)
end)
