// Node's http as a JSON-RPC hello: node hello.js PORT.
'use strict';
const http = require('http');

function respond(body, response) {
  const call = JSON.parse(body);
  const result = call.params[0] - call.params[1];
  const text = JSON.stringify({ jsonrpc: '2.0', result, id: call.id });
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}

http.createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => { body += chunk; });
  request.on('end', () => respond(body, response));
}).listen(Number(process.argv[2]), '127.0.0.1');
