// Node with ws: node ws.js PORT [corked], with NODE_PATH naming its folder.
// The methods of the benchmark; `corked` holds the answers of one read back
// and sends them in one write, by the socket that ws keeps private.
'use strict';
const { WebSocketServer } = require('ws');
const corked = process.argv[3] === 'corked';
const server = new WebSocketServer({
  port: Number(process.argv[2]), host: '127.0.0.1', perMessageDeflate: false,
});
const readers = new Set();

// A notification of 200 bytes, made once for all readers.
function publish(sequence) {
  const news = { jsonrpc: '2.0', method: 'news', params: [sequence, ''] };
  news.params[1] = 'x'.repeat(200 - JSON.stringify(news).length);
  const text = Buffer.from(JSON.stringify(news));
  for (const reader of readers) reader.send(text, { binary: false });
}

const methods = {
  subtract: (_, minuend, subtrahend) => minuend - subtrahend,
  'news.join': (reader) => { readers.add(reader); return true; },
  'news.publish': (_, sequence) => publish(sequence),
};

function cork(socket) {
  if (socket.writableCorked) return;
  socket.cork();
  process.nextTick(() => socket.uncork());
}

server.on('connection', (socket) => {
  socket.on('message', (data) => {
    const call = JSON.parse(data);
    const result = methods[call.method](socket, ...call.params);
    if (call.id === undefined) return;
    if (corked) cork(socket._socket);
    socket.send(JSON.stringify({ jsonrpc: '2.0', result, id: call.id }));
  });
  socket.on('close', () => readers.delete(socket));
});
