---@meta rpc
-- What scripts find in the global table `rpc`, for editors that read LuaCATS.
-- Nothing here runs; the functions are C (src/runtime). lua/README.md tells the
-- story.

---@class rpc
---@field version string of the host
---@field null userdata JSON's null inside structures; equals `cjson.null`
---@field cancelled rpc.Error what a wait raises once the caller has given up
rpc = {}

---An error object, which reaches the caller as it is.
---@class rpc.Error
---@field code integer
---@field message string
---@field data any

---Raises an error for the caller.
---@class rpc.error
---@overload fun(code: integer, message: string, data?: any)
rpc.error = {}

---Makes an error without raising it, for `error(err)` or `return nil, err`.
---@param code integer
---@param message string
---@param data? any
---@return rpc.Error
function rpc.error.new(code, message, data) end

---Marks a table as an array: empty, it is written as `[]`.
---@generic T: table
---@param t? T
---@return T
function rpc.array(t) end

---Marks a table as an object: empty, it is written as `{}`.
---@generic T: table
---@param t? T
---@return T
function rpc.object(t) end

---Waits. Other calls run meanwhile.
---@param seconds number
function rpc.sleep(seconds) end

---Calls `start(resume)` and waits until somebody calls `resume(...)`; gives its
---arguments. Raises error -32051 after `timeout` seconds (limits.wait).
---@param start fun(resume: fun(...: any))
---@param timeout? number
---@return any ...
function rpc.await(start, timeout) end

---@class rpc.Task
local Task = {}

---Waits for the task; gives its results, or raises its error.
---@param timeout? number seconds; limits.wait
---@return any ...
function Task:wait(timeout) end

---Makes the task's waits raise `rpc.cancelled`.
function Task:cancel() end

---@return boolean
function Task:is_done() end

---Runs `fn(...)` as a task of its own, at once, until it waits.
---@param fn fun(...: any): any ...
---@return rpc.Task
function rpc.spawn(fn, ...) end

---@class rpc.Timer
local Timer = {}

---Ends the timer; fine at any time.
function Timer:stop() end

---Runs `fn` once, after `seconds`.
---@param seconds number
---@param fn fun()
---@return rpc.Timer
function rpc.after(seconds, fn) end

---Runs `fn` every `seconds`; a run that lasts longer leaves out ticks.
---@param seconds number
---@param fn fun()
---@return rpc.Timer
function rpc.every(seconds, fn) end

---A table that survives reloads, the same for each use of `name`.
---@param name string
---@return table
function rpc.state(name) end

---Declares a method whose name doesn't follow its file's path, while that file
---loads.
---@param name string
---@param fn function
function rpc.method(name, fn) end

---Has the caller of this call given up?
---@return boolean
function rpc.is_cancelled() end

---Asks the program to end, as SIGTERM does: calls in flight are answered first,
---this one included. Returns at once.
---@param code? integer its exit code, 0 to 255; 0
function rpc.exit(code) end

---Seconds of a clock that never goes back.
---@return number
function rpc.now() end

---@class rpc.log
rpc.log = {}

---@param text any
---@param fields? table<string, any>
function rpc.log.debug(text, fields) end

---@param text any
---@param fields? table<string, any>
function rpc.log.info(text, fields) end

---@param text any
---@param fields? table<string, any>
function rpc.log.warn(text, fields) end

---@param text any
---@param fields? table<string, any>
function rpc.log.error(text, fields) end

---@class rpc.json
rpc.json = {}

---Raises an error that names the path of what can't be written.
---@param value any
---@return string
function rpc.json.encode(value) end

---Raises an error that names line and column.
---@param text string
---@return any
function rpc.json.decode(text) end

return rpc
