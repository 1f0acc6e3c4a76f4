// The usual plain Node program: readline, and a write for each answer.
// node readline.js for stdio, node readline.js PORT for TCP.
'use strict';
const readline = require('readline');
const methods = { subtract: (minuend, subtrahend) => minuend - subtrahend };

function serve(input, output) {
  readline.createInterface({ input }).on('line', (line) => {
    const call = JSON.parse(line);
    const result = methods[call.method](...call.params);
    output.write(
      JSON.stringify({ jsonrpc: '2.0', result, id: call.id }) + '\n');
  });
}

const port = Number(process.argv[2]);
if (port) {
  require('net').createServer({ noDelay: true }, (s) => serve(s, s))
    .listen(port, '127.0.0.1');
} else {
  serve(process.stdin, process.stdout);
}
