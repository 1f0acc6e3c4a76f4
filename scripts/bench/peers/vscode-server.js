// vscode-jsonrpc as a server that calls its client: node vscode-server.js, on
// stdio, with NODE_PATH naming its folder. Does what methods/drive.lua does.
'use strict';
const rpc = require('vscode-jsonrpc/node');

const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(process.stdin),
  new rpc.StreamMessageWriter(process.stdout));
let going = false;
let number = 0;
let right = 0;

async function callOnAndOn() {
  while (going) {
    const mine = number++;
    if (await connection.sendRequest('subtract', mine, 23) !== mine - 23) {
      throw new Error(`a wrong answer to ${mine}`);
    }
    right++;
  }
}

connection.onRequest('drive.start', async (inFlight) => {
  going = true;
  await Promise.all(Array.from({ length: inFlight }, callOnAndOn));
  return right;
});
connection.onNotification('drive.stop', () => { going = false; });
connection.onClose(() => process.exit(0));
connection.listen();
