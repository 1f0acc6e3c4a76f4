#!/usr/bin/env -S node --test-reporter=./tests/clients/tap.mjs
// json-rpc-2.0: a client over HTTP.
'use strict';
const assert = require('node:assert/strict');
const { before, describe, it } = require('node:test');
const { JSONRPCClient } = require('json-rpc-2.0');
const { serve } = require('./support');

describe('json-rpc-2.0 over HTTP', () => {
  let client, statuses;

  before(async () => {
    const [url] = await serve('tests/spec/methods', 'http://127.0.0.1:0');
    client = new JSONRPCClient(async (request) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(request),
      });
      statuses.push(response.status);
      if (response.status === 200) client.receive(await response.json());
    });
    statuses = [];
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
    statuses.length = 0;
    client.notify('update', [1, 2]);
    assert.equal(await client.request('sum', [1]), 1);
    assert.deepEqual(statuses.sort(), [200, 204]);
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
