#!/usr/bin/env -S node --test-reporter=./tests/clients/tap.mjs
// rpc-websockets: calls, notifications both ways. Its events
// (rpc.on, "notification" members) aren't JSON-RPC 2.0, so they aren't here.
'use strict';
const assert = require('node:assert/strict');
const { once } = require('node:events');
const { before, after, describe } = require('node:test');
const { Client } = require('rpc-websockets');
const { it, serve } = require('./support');

describe('rpc-websockets', () => {
  let client;

  before(async () => {
    const [http] = await serve('tests/clients/methods', 'http://127.0.0.1:0');
    client = new Client(http.replace('http', 'ws'));
    await once(client, 'open');
  });

  after(async () => {
    client.close();
    await once(client, 'close');
  });

  it('calls with params by position and by name', async () => {
    assert.equal(await client.call('subtract', [42, 23]), 19);
    assert.equal(await client.call('subtract', { subtrahend: 23, minuend: 42 }), 19);
    assert.deepEqual(await client.call('echo', { a: [], b: null }), { a: [], b: null });
  });

  it('is told of errors with code, message and data', async () => {
    await assert.rejects(client.call('fail', [5, 'no', { why: 'so' }]),
      { code: 5, message: 'no', data: { why: 'so' } });
    await assert.rejects(client.call('absent'), { code: -32601 });
  });

  it('finds no methods in the name space of the host', async () => {
    await assert.rejects(client.listMethods(), { code: -32601 });
  });

  it('notifies, and is notified', async () => {
    await client.notify('note', ['hello']);
    assert.deepEqual(await client.call('notes'), ['hello']);
    const told = once(client, 'told');
    await client.call('tell', ['told', [1, 2]]);
    assert.deepEqual(await told, [[1, 2]]);
  });

  it('has many calls in flight', async () => {
    const numbers = [...Array(300).keys()];
    assert.deepEqual(await Promise.all(numbers.map((n) => client.call('subtract', [n, 1]))),
      numbers.map((n) => n - 1));
  });

  it('is told to leave, and may come again', async () => {
    const closed = once(client, 'close');
    await client.notify('leave', ['come again']);
    assert.deepEqual(await closed, [1000, 'come again']);
    client.connect();
    await once(client, 'open');
    assert.equal(await client.call('subtract', [3, 1]), 2);
    assert.deepEqual(await client.call('notes'), []);
  });
});
