#!/usr/bin/env -S node --test-reporter=./tests/clients/tap.mjs
// ethers with examples/ethereum: HTTP with batches, WebSocket with blocks as
// they come.
'use strict';
const assert = require('node:assert/strict');
const { before, after, describe } = require('node:test');
const { ethers } = require('ethers');
const { it, serve, deferred } = require('./support');

process.env.BLOCK_SECONDS = '3600'; // blocks come when they are asked for

const ACCOUNT = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const ABI = [
  'function totalSupply() view returns (uint256)',
  'function balanceOf(address) view returns (uint256)',
  'function mint() view returns (uint256)',
];

const isNotFound = ({ error }) => error.code === -32601;

let url;

before(async () => {
  [url] = await serve('examples/ethereum', 'http://127.0.0.1:0');
});

// The same questions on both transports.
function asks(open) {
  let provider;

  before(() => {
    provider = open();
  });

  after(() => provider.destroy());

  it('learns which chain it is', async () => {
    const network = await provider.getNetwork();
    assert.equal(network.chainId, 1337n);
  });

  it('reads blocks', async () => {
    await provider.send('evm_mine', []);
    const head = await provider.getBlock('latest');
    assert.equal(head.number, Number(await provider.send('eth_blockNumber', [])));
    const parent = await provider.getBlock(head.number - 1);
    assert.equal(parent.hash, head.parentHash);
    assert.ok(Math.abs(head.timestamp - Date.now() / 1000) < 60);
    assert.equal(await provider.getBlock(head.number + 1000), null);
  });

  it('reads balances beyond 64 bits', async () => {
    assert.equal(await provider.getBalance(ACCOUNT), ethers.parseEther('10000'));
    assert.equal(await provider.getBalance(TOKEN), 0n);
  });

  it('calls a contract, which may revert', async () => {
    const token = new ethers.Contract(TOKEN, ABI, provider);
    assert.equal(await token.totalSupply(), 1000000n);
    assert.equal(await token.balanceOf(ACCOUNT), 0x2266n);
    await assert.rejects(token.mint(), { code: 'CALL_EXCEPTION', reason: 'no such function' });
  });

  it('is told of methods that are not there', async () => {
    await assert.rejects(provider.send('eth_mining', []), isNotFound);
  });

  return () => provider;
}

describe('ethers over HTTP', () => {
  const provider = asks(() => new ethers.JsonRpcProvider(url));

  it('puts what it asks at once into a batch', async () => {
    const batches = [];
    await provider().on('debug', ({ action, payload, result }) => {
      if (action === 'sendRpcPayload') batches.push(payload.length);
      else batches.push(result.length);
    });
    const tokens = await Promise.all([
      provider().send('eth_chainId', []),
      provider().send('net_version', []),
      provider().send('eth_getBalance', [ACCOUNT, 'latest']),
    ]);
    assert.deepEqual(tokens, ['0x539', '1337', '0x21e19e0c9bab2400000']);
    assert.deepEqual(batches, [3, 3]);
  });

  it('can not subscribe', async () => {
    await assert.rejects(provider().send('eth_subscribe', ['newHeads']), isNotFound);
  });
});

describe('ethers over WebSocket', () => {
  const provider = asks(() => new ethers.WebSocketProvider(url.replace('http', 'ws')));

  it('hears of blocks, until it has heard enough', async () => {
    const from = await provider().getBlockNumber();
    const blocks = [];
    const { promise, resolve } = deferred();
    await provider().on('block', (number) => {
      blocks.push(number);
      if (blocks.length === 3) resolve();
    });
    for (let i = 0; i < 3; i++) await provider().send('evm_mine', []);
    await promise;
    assert.deepEqual(blocks, [from + 1, from + 2, from + 3]);
    await provider().off('block');
    await provider().send('evm_mine', []);
    assert.equal(await provider().send('eth_blockNumber', []), ethers.toQuantity(from + 4));
    assert.equal(blocks.length, 3);
  });

  it('may subscribe again, beside others', async () => {
    const other = new ethers.WebSocketProvider(url.replace('http', 'ws'));
    const heard = [provider(), other].map((one) => new Promise((resolve) => {
      one.on('block', resolve);
    }));
    // Subscriptions are requests: what comes behind them finds them made.
    await Promise.all([provider(), other].map((one) => one.send('eth_chainId', [])));
    const number = Number(await other.send('eth_blockNumber', []));
    await other.send('evm_mine', []);
    assert.deepEqual(await Promise.all(heard), [number + 1, number + 1]);
    await other.destroy();
  });
});
