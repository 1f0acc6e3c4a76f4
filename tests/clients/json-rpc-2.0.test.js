#!/usr/bin/env -S node --test-reporter=./tests/clients/tap.mjs
// json-rpc-2.0: a client over HTTP, and both sides calling over WebSocket.
'use strict';
const assert = require('node:assert/strict');
const { once } = require('node:events');
const { before, after, describe } = require('node:test');
const {
  JSONRPCClient, JSONRPCErrorException, JSONRPCServer, JSONRPCServerAndClient,
} = require('json-rpc-2.0');
const WebSocket = require('ws');
const { it, serve } = require('./support');

const quiet = { errorListener: () => {} };

describe('json-rpc-2.0 over HTTP', () => {
  let client;
  let posted = Promise.resolve(); // the status of the last request

  before(async () => {
    const [url] = await serve('tests/spec/methods', 'http://127.0.0.1:0');
    const post = async (request) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(request),
      });
      if (response.status === 200) client.receive(await response.json());
      return response.status;
    };
    client = new JSONRPCClient((request) => (posted = post(request)));
  });

  it('calls', async () => {
    assert.equal(await client.request('subtract', { minuend: 42, subtrahend: 23 }), 19);
    assert.deepEqual(await client.request('echo', [[], {}, null]), [[], {}, null]);
  });

  it('rejects with code, message and data', async () => {
    await assert.rejects(client.request('fail', [5, 'no', { why: 'so' }]),
      { code: 5, message: 'no', data: { why: 'so' } });
    await assert.rejects(client.request('absent'), { code: -32601 });
  });

  it('notifies, and gets 204 without a body', async () => {
    client.notify('update', [1, 2]);
    assert.equal(await posted, 204);
  });

  it('sends batches', async () => {
    const answers = await client.requestAdvanced([
      { jsonrpc: '2.0', id: 1, method: 'sum', params: [1, 2] },
      { jsonrpc: '2.0', id: 2, method: 'fail', params: [6, 'six'] },
    ]);
    assert.deepEqual(answers, [
      { jsonrpc: '2.0', id: 1, result: 3 },
      { jsonrpc: '2.0', id: 2, error: { code: 6, message: 'six' } },
    ]);
  });
});

describe('json-rpc-2.0 over WebSocket', () => {
  let peer, socket;

  before(async () => {
    const [http] = await serve('tests/clients/methods', 'http://127.0.0.1:0');
    socket = new WebSocket(http.replace('http', 'ws'));
    await once(socket, 'open');
    const client = new JSONRPCClient((request) => socket.send(JSON.stringify(request)));
    peer = new JSONRPCServerAndClient(new JSONRPCServer(quiet), client, quiet);
    peer.addMethod('double', ([number]) => 2 * number);
    peer.addMethod('ping', ([n]) => (n === 0 ? 'our bottom' : peer.request('ping', [n - 1])));
    peer.addMethod('refuse', () => {
      throw new JSONRPCErrorException('not today', 7, { until: 'noon' });
    });
    socket.on('message', (data) => peer.receiveAndSend(JSON.parse(data)));
    socket.on('close', () => peer.rejectAllPendingRequests('closed'));
  });

  after(() => socket.terminate());

  it('calls', async () => {
    assert.equal(await peer.request('subtract', { minuend: 42, subtrahend: 23 }), 19);
    await assert.rejects(peer.request('fail', [5, 'no', { why: 'so' }]),
      { code: 5, message: 'no', data: { why: 'so' } });
  });

  it('is called while its own call waits', async () => {
    assert.equal(await peer.request('ask', ['double', [21]]), 42);
    assert.equal(await peer.request('ping', [100]), 'the bottom');
    assert.equal(await peer.request('ping', [99]), 'our bottom');
  });

  it('refuses a call, and the error comes back through both', async () => {
    await assert.rejects(peer.request('ask', ['refuse', []]),
      { code: 7, message: 'not today', data: { until: 'noon' } });
    await assert.rejects(peer.request('ask', ['absent', []]), { code: -32601 });
  });

  it('notifies, and is notified', async () => {
    peer.notify('note', ['hello']);
    assert.deepEqual(await peer.request('notes'), ['hello']);
    const told = new Promise((resolve) => peer.addMethod('told', resolve));
    await peer.request('tell', ['told', [1, 2]]);
    assert.deepEqual(await told, [1, 2]);
  });

  it('has many calls both ways in flight', async () => {
    const numbers = [...Array(200).keys()];
    assert.deepEqual(await Promise.all(numbers.map((n) => peer.request('ask', ['double', [n]]))),
      numbers.map((n) => 2 * n));
  });

  it('is answered that nobody waits for it any more, when the other side closes', async () => {
    const asked = new Promise((resolve) => peer.addMethod('never', () => {
      resolve();
      return new Promise(() => {});
    }));
    const call = peer.request('ask', ['never']);
    await asked;
    const closed = once(socket, 'close');
    peer.notify('leave', ['enough']);
    await assert.rejects(call, { code: -32057 });
    assert.equal((await closed)[0], 1000);
  });
});
