// The fastest plain Node program: splits each chunk by hand and answers it in
// one write. node chunks.js for stdio, node chunks.js PORT for TCP.
'use strict';
const methods = { subtract: (minuend, subtrahend) => minuend - subtrahend };

function answer(line) {
  const call = JSON.parse(line);
  const result = methods[call.method](...call.params);
  return JSON.stringify({ jsonrpc: '2.0', result, id: call.id }) + '\n';
}

function serve(input, output) {
  let held = '';
  input.setEncoding('utf8');
  input.on('data', (chunk) => {
    let answers = '';
    let start = 0;
    held += chunk;
    for (let end; (end = held.indexOf('\n', start)) >= 0; start = end + 1) {
      answers += answer(held.slice(start, end));
    }
    held = held.slice(start);
    output.write(answers);
  });
}

const port = Number(process.argv[2]);
if (port) {
  require('net').createServer({ noDelay: true }, (s) => serve(s, s))
    .listen(port, '127.0.0.1');
} else {
  serve(process.stdin, process.stdout);
}
