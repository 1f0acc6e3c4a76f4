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

---The other side of a conversation: one object a connection, or, on HTTP, a
---call. Its fields stay readable when it has ended.
---@class rpc.Peer
---@field id integer unique in this host
---@field transport string "tcp", "unix", "stdio", "ws", "http", ...
---@field address string "" where there is none
---@field data table what scripts keep for this connection
---@field headers table<string, string>? of an HTTP request or a WebSocket's handshake
local Peer = {}

---Calls a method of the other side and waits for its result; raises its error,
----32051 when it doesn't answer in time, -32057 when the connection has ended.
---HTTP can't carry it.
---@param method string
---@param params? table an array or an object
---@param options? {timeout: number?} seconds; limits.wait
---@return any result nil for null
function Peer:call(method, params, options) end

---Sends a notification; raises -32057 when the connection has ended.
---@param method string
---@param params? table
function Peer:notify(method, params) end

---Ends the conversation; calls in flight may still be answered. Fine at any
---time.
---@param reason? string for the other side, where the transport has room for it
function Peer:close(reason) end

---Has it ended, or been closed?
---@return boolean
function Peer:closed() end

---The peer that called: in a method, in what that spawned, and in what
---rpc.on runs for a peer; nil elsewhere.
---@return rpc.Peer?
function rpc.peer() end

---Tells the caller how far its call is, when its params ask for that by a token
---(`workDoneToken`, `partialResultToken`, `progressToken`: `$/progress` is sent;
---`_meta.progressToken`: `notifications/progress`, of a number or an object). A
---spawned task tells of the call that it was spawned for, until that is answered.
---@param value any
---@return boolean sent false: it didn't ask, or can't be told
function rpc.progress(value) end

---A connection of our own, which comes back by itself when it has ended; until
---then calls wait. It belongs to the file that made it.
---@class rpc.Client
---@field address string
---@field transport string "http", "ws", "tcp", "unix" or "exec"
---@field id integer? of the connection that it has now, or will use next (HTTP)
---@field data table what scripts keep
local Client = {}

---Calls a method and waits for its result; raises its error, -32051 when there
---is no answer, or no connection, in time; -32057 when the connection ends
---under it. Only an idempotent call is sent again then, three times in all.
---@param method string
---@param params? table an array or an object
---@param options? {timeout: number?, idempotent: boolean?}
---@return any result nil for null
function Client:call(method, params, options) end

---Sends a notification; waits for a connection where there is none, and over
---HTTP until the server has taken it.
---@param method string
---@param params? table
---@param options? {timeout: number?}
function Client:notify(method, params, options) end

---Ends it for good; calls that wait raise. Fine at any time.
---@param reason? string
function Client:close(reason) end

---Has it ended for good?
---@return boolean
function Client:closed() end

---@class rpc.ConnectOptions
---@field timeout number? seconds for a call, its waits included; limits.wait
---@field connect_timeout number? seconds for one try; 5
---@field in_flight integer? calls at once, those beyond it wait in order; 1024
---@field connections integer? HTTP: connections at once, each with one call; 8
---@field idle_time number? HTTP: seconds until an idle connection is closed; 4
---@field reconnect boolean? true
---@field retry boolean? don't raise when the first try fails, go on trying; false
---@field backoff_min number? seconds before the first try, at most; 0.1
---@field backoff_max number? and before any; 30
---@field headers table<string, string>? further header fields, HTTP and WebSocket only
---@field on_connect fun(client: rpc.Client)? runs as a task at each connection

---Connects to a server and waits for that; raises -32057 when it fails. The
---other side may call our methods in turn.
---@param url string as of moonrpc call: http, ws, tcp, unix, exec
---@param options? rpc.ConnectOptions
---@return rpc.Client
function rpc.connect(url, options) end

---Runs `fn` when something happens; while a file loads.
---@param event "connect"|"disconnect"|"reload"|"shutdown"
---@param fn fun(peer: rpc.Peer?)
function rpc.on(event, fn) end

---A set of peers.
---@class rpc.Topic
local Topic = {}

---Raises for a peer that has ended or that can't be sent anything (HTTP).
---@param peer rpc.Peer
---@return boolean is_new
function Topic:add(peer) end

---@param peer rpc.Peer
---@return boolean was_in
function Topic:remove(peer) end

---Sends a notification to all peers in the topic, encoded once.
---@param method string
---@param params? table
---@return integer count of the peers it was sent to
function Topic:publish(method, params) end

---@return integer
function Topic:count() end

---@return rpc.Peer[]
function Topic:peers() end

---The topic of that name, the same one in all files, across reloads.
---@param name string
---@return rpc.Topic
function rpc.topic(name) end

---Makes the calls of this file's methods run one after another, for each peer;
---while the file loads. Files that give the same name take turns.
---@param name? string
function rpc.serial(name) end

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
