#!/usr/bin/env -S nvim --clean --headless -n -S
-- Neovim's own language client with examples/lsp on stdio: shows a diagnostic
-- and a completion. Runs inside Neovim, which has LuaJIT.
local count, failed = 0, false

local function ok(is_so, what, seen)
  count = count + 1
  failed = failed or not is_so
  io.stdout:write(("%s %d - %s\n"):format(is_so and "ok" or "not ok", count, what))
  if not is_so then io.stdout:write("# ", (vim.inspect(seen):gsub("\n", "\n# ")), "\n") end
end

-- The test is a coroutine: Neovim takes keys and shows menus while it waits.
local function wait(ready)
  local co, value = coroutine.running(), nil
  local timer, ticks = vim.loop.new_timer(), 0
  timer:start(0, 5, vim.schedule_wrap(function()
    if timer:is_closing() then return end
    value, ticks = ready(), ticks + 1
    if not value and ticks < 2000 then return end
    timer:close()
    coroutine.resume(co)
  end))
  coroutine.yield()
  return value
end

local function type_keys(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), "n", false)
end

local function test()
  local code
  vim.o.showmode = false
  vim.opt.shortmess:append("c")
  vim.cmd("edit hello.lua")
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { "local x = 1", "local = 2", "string.form" })
  local client = vim.lsp.start_client {
    cmd = { os.getenv("MOONRPC"), "serve", "examples/lsp", "--listen", "stdio:" },
    root_dir = vim.fn.getcwd(),
    on_exit = function(exit_code) code = exit_code end,
  }
  ok(client and vim.lsp.buf_attach_client(0, client), "the client attaches", client)

  wait(function() return #vim.diagnostic.get(0) > 0 end)
  local diagnostics = vim.diagnostic.get(0)
  local one = diagnostics[1] or {}
  ok(#diagnostics == 1 and one.lnum == 1 and one.message == "<name> expected near '='",
    "a diagnostic is shown", diagnostics)

  vim.api.nvim_buf_set_text(0, 1, 6, 1, 6, { "y " })
  vim.api.nvim_buf_set_text(0, 2, 0, 2, 0, { "return " })
  local mended = wait(function() return #vim.diagnostic.get(0) == 0 end)
  ok(mended, "it goes when the fault is mended", vim.diagnostic.get(0))

  vim.bo.omnifunc = "v:lua.vim.lsp.omnifunc"
  vim.o.completeopt = "menuone,noinsert"
  type_keys("GA<C-X><C-O>")
  local items = wait(function()
    local items = vim.fn.complete_info({ "items" }).items
    return #items > 0 and items
  end) or {}
  ok(#items == 1 and items[1].word == "format", "a completion is shown", items)
  type_keys("<C-Y><Esc>")
  local taken = wait(function() return vim.fn.getline(3) == "return string.format" end)
  ok(taken, "it can be taken", vim.fn.getline(1, "$"))

  vim.lsp.stop_client(client)
  wait(function() return code end)
  ok(code == 0, "the server is shut down and exits with 0", code)
end

coroutine.wrap(function()
  local fine, fault = pcall(test)
  if not fine then ok(false, "no error", fault) end
  io.stdout:write("1..", count, "\n")
  vim.cmd(failed and "cquit!" or "qall!")
end)()
