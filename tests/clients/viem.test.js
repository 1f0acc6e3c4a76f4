#!/usr/bin/env -S node --test-reporter=./tests/clients/tap.mjs
// viem with examples/ethereum: HTTP with batches, WebSocket with blocks as they
// come.
'use strict';
const assert = require('node:assert/strict');
const { before, describe } = require('node:test');
const viem = require('viem');
const { it, serve, deferred } = require('./support');

process.env.BLOCK_SECONDS = '3600'; // blocks come when they are asked for

const ACCOUNT = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const abi = viem.parseAbi(['function balanceOf(address) view returns (uint256)']);

describe('viem', () => {
  let url;

  before(async () => {
    [url] = await serve('examples/ethereum', 'http://127.0.0.1:0');
  });

  it('asks over HTTP, in a batch', async () => {
    const bodies = [];
    const client = viem.createPublicClient({
      transport: viem.http(url, {
        batch: true,
        onFetchRequest: (_, { body }) => {
          bodies.push(JSON.parse(body).length);
        },
      }),
    });
    const [id, balance, tokens, block] = await Promise.all([
      client.getChainId(),
      client.getBalance({ address: ACCOUNT }),
      client.readContract({ address: TOKEN, abi, functionName: 'balanceOf', args: [ACCOUNT] }),
      client.getBlock(),
    ]);
    assert.equal(id, 1337);
    assert.equal(balance, viem.parseEther('10000'));
    assert.equal(tokens, 0x2266n);
    assert.equal(block.number, 0n);
    assert.deepEqual(bodies, [4]);
    await assert.rejects(client.getBlock({ blockNumber: 99n }), { name: 'BlockNotFoundError' });
  });

  it('hears of blocks over WebSocket, twice at once', async () => {
    const client = viem.createPublicClient({
      transport: viem.webSocket(url.replace('http', 'ws'), { reconnect: false }),
    });
    const number = await client.getBlockNumber();
    const heard = [deferred(), deferred()];
    const ends = heard.map(({ resolve, reject }) =>
      client.watchBlockNumber({ onBlockNumber: resolve, onError: reject }));
    await client.getChainId(); // behind the subscriptions
    await client.request({ method: 'evm_mine' });
    assert.deepEqual(await Promise.all(heard.map(({ promise }) => promise)),
      [number + 1n, number + 1n]);
    ends.forEach((end) => end());
    assert.equal(await client.getChainId(), 1337);
    (await client.transport.getRpcClient()).close();
  });
});
