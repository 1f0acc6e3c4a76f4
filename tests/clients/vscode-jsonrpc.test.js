#!/usr/bin/env -S node --test-reporter=./tests/clients/tap.mjs
// vscode-jsonrpc: Content-Length on stdio and a socket, both sides calling.
'use strict';
const assert = require('node:assert/strict');
const net = require('node:net');
const { once } = require('node:events');
const { before, after, describe } = require('node:test');
const rpc = require('vscode-jsonrpc/node');
const { it, serve, serveStdio, finish, deferred } = require('./support');

const METHODS = 'tests/clients/methods';

// What is answered with, as far as it matters.
const failure = ({ code, message, data }) => ({ code, message, data });

async function fails(promise) {
  return failure(await promise.then((result) => assert.fail(`it gave ${result}`), (e) => e));
}

// The same conversation on both transports.
function speaks(open) {
  let peer;

  before(async () => {
    peer = rpc.createMessageConnection(...await open());
    peer.onRequest('double', (number) => 2 * number);
    peer.onRequest('ping', (n) => (n === 0 ? 'our bottom' : peer.sendRequest('ping', n - 1)));
    peer.onRequest('refuse', () => new rpc.ResponseError(7, 'not today', { until: 'noon' }));
    peer.listen();
  });

  after(() => peer.dispose());

  const notified = (method) => {
    const { promise, resolve } = deferred();
    const handler = peer.onNotification(method, (...params) => {
      handler.dispose();
      resolve(params);
    });
    return promise;
  };

  it('calls with params by position and by name', async () => {
    assert.equal(await peer.sendRequest('subtract', 42, 23), 19);
    assert.equal(await peer.sendRequest('subtract', { subtrahend: 23, minuend: 42 }), 19);
    assert.deepEqual(await peer.sendRequest('echo', 'größer 𝄞', [], {}), ['größer 𝄞', [], {}]);
  });

  it('is told of errors with code, message and data', async () => {
    assert.deepEqual(await fails(peer.sendRequest('fail', 5, 'no', { why: ['so'] })),
      { code: 5, message: 'no', data: { why: ['so'] } });
    assert.equal((await fails(peer.sendRequest('absent'))).code, -32601);
  });

  it('notifies, in the order sent', async () => {
    for (let i = 1; i <= 20; i++) peer.sendNotification('note', i);
    assert.deepEqual(await peer.sendRequest('notes'), [...Array(20)].map((_, i) => i + 1));
  });

  it('is notified', async () => {
    const told = notified('told');
    await peer.sendRequest('tell', 'told', [1, 'two', { three: 3 }]);
    assert.deepEqual(await told, [1, 'two', { three: 3 }]);
  });

  it('is called while its own call waits', async () => {
    assert.equal(await peer.sendRequest('ask', 'double', [21]), 42);
  });

  it('refuses a call, and the error comes back through both', async () => {
    assert.deepEqual(await fails(peer.sendRequest('ask', 'refuse', [])),
      { code: 7, message: 'not today', data: { until: 'noon' } });
    assert.equal((await fails(peer.sendRequest('ask', 'absent', []))).code, -32601);
  });

  it('calls and is called a hundred levels deep', async () => {
    assert.equal(await peer.sendRequest('ping', 100), 'the bottom');
    assert.equal(await peer.sendRequest('ping', 99), 'our bottom');
  });

  it('has many calls both ways in flight', async () => {
    const numbers = [...Array(200).keys()];
    assert.deepEqual(await Promise.all(numbers.map((n) => peer.sendRequest('ask', 'double', [n]))),
      numbers.map((n) => 2 * n));
  });

  it('cancels a call, which the handler sees', async () => {
    const cancelled = await peer.sendRequest('cancelled');
    const source = new rpc.CancellationTokenSource();
    const held = notified('held');
    const call = peer.sendRequest('hold', source.token);
    await held;
    source.cancel();
    assert.equal((await fails(call)).code, -32800);
    assert.equal(await peer.sendRequest('cancelled'), cancelled + 1);
  });

  it('sees that a call to it is cancelled when its time is over', async () => {
    const { promise, resolve } = deferred();
    const handler = peer.onRequest('slow', (token) => new Promise((answer) => {
      token.onCancellationRequested(() => {
        resolve();
        answer('too late');
      });
    }));
    assert.equal((await fails(peer.sendRequest('ask', 'slow', [], 0.05))).code, -32051);
    await promise;
    handler.dispose();
    assert.equal(await peer.sendRequest('ask', 'double', [4]), 8);
  });

  it('is told of progress, by the token that it gave', async () => {
    const type = new rpc.ProgressType();
    const seen = [];
    const handlers = ['a', 7].map((token) =>
      peer.onProgress(type, token, ({ done }) => seen.push([token, done])));
    assert.equal(await peer.sendRequest('count', { to: 3, workDoneToken: 'a' }), 'counted');
    assert.deepEqual(seen, [['a', 1], ['a', 2], ['a', 3]]);
    assert.equal(await peer.sendRequest('count', { to: 1, workDoneToken: 7 }), 'counted');
    assert.deepEqual(seen.slice(3), [[7, 1]]);
    handlers.forEach((handler) => handler.dispose());
  });

  it('gets no progress where it gave no token', async () => {
    const unhandled = peer.onUnhandledProgress((message) => assert.fail(message));
    assert.equal(await peer.sendRequest('count', { to: 3 }), 'counted');
    unhandled.dispose();
  });
}

describe('vscode-jsonrpc on stdio', () => {
  let child;

  speaks(() => {
    child = serveStdio(METHODS);
    return [new rpc.StreamMessageReader(child.stdout), new rpc.StreamMessageWriter(child.stdin)];
  });

  after(() => {
    child.stdin.end();
    return finish(child);
  });
});

describe('vscode-jsonrpc on a socket', () => {
  let socket;

  speaks(async () => {
    const [url] = await serve(METHODS, 'tcp://127.0.0.1:0?framing=header');
    // It writes headers and bodies apart: without delay, or each waits for the
    // acknowledgement of the one before.
    socket = net.connect({ port: new URL(url).port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return [new rpc.SocketMessageReader(socket), new rpc.SocketMessageWriter(socket)];
  });

  it('hears of the end of the connection', async () => {
    const other = net.connect(socket.remotePort, '127.0.0.1');
    const peer = rpc.createMessageConnection(
      new rpc.SocketMessageReader(other), new rpc.SocketMessageWriter(other));
    const closed = deferred();
    peer.onClose(closed.resolve);
    peer.onRequest('never', () => {
      other.end(); // our half; the other one still brings the answer
      return new Promise(() => {});
    });
    peer.listen();
    assert.equal((await fails(peer.sendRequest('ask', 'never', []))).code, -32057);
    await closed.promise;
  });

  after(() => socket.destroy());
});
