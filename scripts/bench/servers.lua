-- SPDX-License-Identifier: MIT
-- How each contestant is started. Each function returns a server that
-- listens on `port`, or nil and why it is left out.
local net = require "bench.net"
local proc = require "bench.proc"
local settings = require "bench.settings"
local uv = require "luv"

local servers = {}

local function exists(path)
  return uv.fs_stat(path) ~= nil
end

-- Looks a program up on the PATH and where Debian keeps daemons.
local function find_program(name)
  for dir in (os.getenv("PATH") .. ":/usr/sbin"):gmatch("[^:]+") do
    if exists(dir .. "/" .. name) then return dir .. "/" .. name end
  end
end
servers.find_program = find_program

local function listens(port)
  return function()
    local line = net.line(port)
    if line then line.close() end
    return line ~= nil
  end
end

-- Waits until a server with a known port listens.
local function ready(server, port)
  server.port = port
  local up = proc.wait(10, function() return server.ended or listens(port)() end)
  if up and not server.ended then return server end
  local log = proc.log(server)
  proc.stop(server)
  return nil, server.name .. " doesn't start: " .. log:sub(1, 300)
end

--- moonrpc serving a directory on a URL such as "http://127.0.0.1:0"; `more`
--- adds words to its command line.
function servers.moonrpc(dir, url, more)
  if not exists(settings.program) then
    return nil, settings.program .. " isn't built"
  end
  local words = { settings.program, "serve", dir, "--listen", url }
  table.move(more or {}, 1, #(more or {}), #words + 1, words)
  local scheme = url:match("^%a+")
  local server = proc.start("moonrpc", words)
  local port = proc.wait(10, function()
    return server.ended or proc.log(server):match("listening on " .. scheme .. "://%S-:(%d+)")
  end)
  server.port = tonumber(port)
  if server.port then return server end
  local log = proc.log(server)
  proc.stop(server)
  return nil, "moonrpc doesn't start: " .. log:sub(1, 300)
end

function servers.bare()
  local port = net.free_port()
  return ready(proc.start("bare", { settings.work .. "/bare", port }), port)
end

function servers.barews()
  local port = net.free_port()
  return ready(proc.start("barews", { settings.work .. "/barews", port }), port)
end

--- A program of peers/ for Node that needs `module`, as words, with "node" in
--- front; nil and why not. servers.node_env makes Node find the module.
function servers.node_words(script, module)
  local program = find_program("node")
  if not program then return nil, "there is no node" end
  if module and not exists(settings.modules .. "/" .. module) then
    return nil, "there is no " .. module
  end
  return { program, settings.home .. "/peers/" .. script .. ".js" }
end
servers.node_env = { "NODE_PATH=" .. settings.modules }

local function node(script, module, more)
  local words, why = servers.node_words(script, module)
  if not words then return nil, why end
  local port = net.free_port()
  words[3], words[4] = port, more
  return ready(proc.start(script, words, servers.node_env), port)
end

function servers.jayson() return node("jayson", "jayson") end
function servers.ws() return node("ws", "ws") end
function servers.wscorked() return node("ws", "ws", "corked") end

function servers.chunks() return node("chunks") end
function servers.readline() return node("readline") end

-- Writes the configuration with paths and port filled in.
local function configure_nginx(dir, port)
  local template <close> = assert(io.open(settings.home .. "/peers/nginx.conf"))
  local text = template:read("a"):gsub("DIR", dir):gsub("PORT", tostring(port))
  local file <close> = assert(io.open(dir .. "/nginx.conf", "w"))
  file:write(text)
end

function servers.nginx()
  local program = find_program("nginx")
  if not program or not exists("/usr/lib/nginx/modules/ngx_http_lua_module.so")
  then
    return nil, "there is no nginx with Lua"
  end
  local dir, port = uv.cwd() .. "/" .. settings.work, net.free_port()
  configure_nginx(dir, port)
  local words = { program, "-p", "/usr/share/nginx", "-c", dir .. "/nginx.conf" }
  return ready(proc.start("nginx", words), port)
end

return servers
