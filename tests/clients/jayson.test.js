#!/usr/bin/env -S node --test-reporter=./tests/clients/tap.mjs
// jayson: HTTP with batches, newline-delimited TCP, WebSocket.
'use strict';
const assert = require('node:assert/strict');
const { promisify } = require('node:util');
const { once } = require('node:events');
const { before, after, describe } = require('node:test');
const jayson = require('jayson');
const WebSocket = require('ws');
const { it, serve } = require('./support');

// The same calls on every transport. jayson wants single calls and batches, and
// gives whole answers.
function speaks(open) {
  let client, request;

  before(() => {
    client = open();
    request = promisify(client.request.bind(client));
  });

  const make = (method, params, id) => client.request(method, params, id, false);

  it('calls with params by position and by name', async () => {
    const byPosition = await request('subtract', [42, 23]);
    assert.equal(byPosition.result, 19);
    assert.equal(byPosition.jsonrpc, '2.0');
    const byName = await request('subtract', { subtrahend: 23, minuend: 42 });
    assert.equal(byName.result, 19);
  });

  it('gets back the ids that it made up', async () => {
    assert.equal((await request('sum', [1], 7)).id, 7);
    assert.equal((await request('sum', [1], 'seven')).id, 'seven');
  });

  it('gets values back as they went', async () => {
    const values = [{ a: [], b: {}, c: null }, 'naïve 𝄞 "\\', 1.5, -0.25, 9007199254740991, true];
    assert.deepEqual((await request('echo', values)).result, values);
  });

  it('is told of errors with code, message and data', async () => {
    const { error, result } = await request('fail', [-32001, 'no luck', { tried: [1, 2] }]);
    assert.deepEqual(error, { code: -32001, message: 'no luck', data: { tried: [1, 2] } });
    assert.equal(result, undefined);
    assert.equal((await request('absent', [])).error.code, -32601);
    assert.equal((await request('subtract', { minuend: 1, nonsense: 2 })).error.code, -32602);
  });

  it('has a batch answered in its order, notifications left out', async () => {
    const answers = await request([
      make('sum', [1, 2, 4], 'a'),
      make('notify_hello', [7], null),
      make('absent', [], 'b'),
      make('get_data', [], 9),
    ]);
    assert.deepEqual(answers.map((answer) => answer.id), ['a', 'b', 9]);
    assert.equal(answers[0].result, 7);
    assert.equal(answers[1].error.code, -32601);
    assert.deepEqual(answers[2].result, ['hello', 5]);
  });

  it('gets a hundred answers at once', async () => {
    const numbers = [...Array(100).keys()];
    const answers = await Promise.all(numbers.map((n) => request('sum', [n, n])));
    assert.deepEqual(answers.map((answer) => answer.result), numbers.map((n) => n + n));
  });

  return () => client;
}

describe('jayson', () => {
  let http, tcp;

  before(async () => {
    [http, tcp] = await serve('tests/spec/methods', 'http://127.0.0.1:0', 'tcp://127.0.0.1:0');
  });

  describe('over HTTP', () => {
    const client = speaks(() => jayson.client.http(http));

    it('gets no answer to a notification', async () => {
      const notify = promisify(client().request.bind(client()));
      assert.equal(await notify('update', [1], null), undefined);
    });
  });

  describe('over TCP', () => {
    speaks(() => jayson.client.tcp({ host: '127.0.0.1', port: Number(new URL(tcp).port) }));
  });

  describe('over WebSocket', () => {
    let ws;

    before(async () => {
      ws = new WebSocket(http.replace('http', 'ws'));
      await once(ws, 'open');
    });

    after(() => ws.terminate());

    speaks(() => jayson.client.websocket({ ws }));
  });
});
