-- Lua 5.4 everywhere. Method files and the Lua inside the program see one
-- global more: `rpc`.
std = "lua54"
max_line_length = 100
self = false
cache = false

files["lua"] = { read_globals = { "rpc" } }
files["lua/rpc.lua"] = { globals = { "rpc" }, unused_args = false, ignore = { "241" } }
files["examples"] = { read_globals = { "rpc" } }
files["tests/spec"] = { std = "+busted" }
files["tests/clients"] = { std = "luajit", globals = { "vim" } }
files["tests/clients/methods"] = { std = "lua54", read_globals = { "rpc" } }
files["tests/spec/methods"] = { read_globals = { "rpc" }, unused_args = false }
files["scripts/bench/methods"] = { read_globals = { "rpc" } }
files["scripts/bench/requests.lua"] = { globals = { "wrk", "init", "request", "done" } }
exclude_files = { "build", "**/node_modules" }
