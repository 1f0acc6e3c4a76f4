#!/usr/bin/env -S node --test-reporter=./tests/clients/tap.mjs
// ws: the WebSocket itself, and JSON-RPC written by hand.
'use strict';
const assert = require('node:assert/strict');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { before, describe } = require('node:test');
const WebSocket = require('ws');
const { it, serve, serveWith, serving } = require('./support');

const METHODS = 'tests/clients/methods';

async function open(url, options, protocols) {
  const socket = new WebSocket(url, protocols, options);
  await once(socket, 'open');
  return socket;
}

async function next(socket) {
  const [data, isBinary] = await once(socket, 'message');
  assert.equal(isBinary, false);
  return JSON.parse(data);
}

async function ask(socket, message) {
  socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  return next(socket);
}

const request = (id, method, params) => ({ jsonrpc: '2.0', id, method, params });
const SUBTRACT = request(1, 'subtract', [42, 23]);
const ANSWER = { jsonrpc: '2.0', id: 1, result: 19 };

// The status of an HTTP answer to a handshake that was refused.
async function refused(url, options) {
  const socket = new WebSocket(url, options);
  const [req, response] = await once(socket, 'unexpected-response');
  req.destroy();
  return response.statusCode;
}

describe('ws', () => {
  let url;

  before(async () => {
    const [http] = await serve(METHODS, 'http://127.0.0.1:0');
    url = http.replace('http', 'ws');
  });

  it('calls on the port of HTTP', async () => {
    const socket = await open(url);
    assert.deepEqual(await ask(socket, SUBTRACT), ANSWER);
    const http = await fetch(url.replace('ws', 'http'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(SUBTRACT),
    });
    assert.deepEqual(await http.json(), ANSWER);
    assert.deepEqual(await ask(socket, SUBTRACT), ANSWER);
    socket.terminate();
  });

  it('calls without an extension though it offers one', async () => {
    const socket = await open(url, { perMessageDeflate: true });
    assert.equal(socket.extensions, '');
    assert.deepEqual(await ask(socket, SUBTRACT), ANSWER);
    socket.terminate();
  });

  it('sends batches, and text in fragments with a ping between them', async () => {
    const socket = await open(url);
    const text = JSON.stringify([SUBTRACT, { jsonrpc: '2.0', method: 'note', params: ['ü'] },
      request('two', 'notes')]);
    const pong = once(socket, 'pong');
    const answer = next(socket);
    socket.send(text.slice(0, 10), { fin: false });
    socket.ping('are you there?');
    for (const char of text.slice(10)) socket.send(char, { fin: false });
    socket.send('', { fin: true });
    assert.equal((await pong)[0].toString(), 'are you there?');
    assert.deepEqual(await answer, [ANSWER, { jsonrpc: '2.0', id: 'two', result: ['ü'] }]);
    socket.terminate();
  });

  it('gets long answers, and those to many calls at once', async () => {
    const socket = await open(url);
    const long = 'ä'.repeat(300000);
    assert.deepEqual((await ask(socket, request(1, 'echo', [long]))).result, [long]);
    const answers = new Map();
    const all = new Promise((resolve) => socket.on('message', (data) => {
      const { id, result } = JSON.parse(data);
      answers.set(id, result);
      if (answers.size === 500) resolve();
    }));
    for (let i = 0; i < 500; i++) socket.send(JSON.stringify(request(i, 'subtract', [i, 1])));
    await all;
    for (let i = 0; i < 500; i++) assert.equal(answers.get(i), i - 1);
    socket.terminate();
  });

  it('lives on after a message that is no JSON', async () => {
    const socket = await open(url);
    assert.equal((await ask(socket, '{nonsense')).error.code, -32700);
    assert.equal((await ask(socket, '[]')).error.code, -32600);
    assert.deepEqual(await ask(socket, SUBTRACT), ANSWER);
    socket.terminate();
  });

  it('is called by its number', async () => {
    const socket = await open(url);
    const call = await ask(socket, request('mine', 'ask', ['double', [21]]));
    assert.equal(call.jsonrpc, '2.0');
    assert.equal(call.method, 'double');
    assert.deepEqual(call.params, [21]);
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: String(call.id), result: 'not that one' }));
    assert.deepEqual(await ask(socket, { jsonrpc: '2.0', id: call.id, result: 42 }),
      { jsonrpc: '2.0', id: 'mine', result: 42 });
    socket.terminate();
  });

  it('is shown to scripts with its headers', async () => {
    const socket = await open(url, { headers: { 'X-Shoe-Size': '43' } });
    const { result } = await ask(socket, request(1, 'who'));
    assert.equal(result.transport, 'ws');
    assert.equal(result.size, '43');
    socket.terminate();
  });

  describe('closes', () => {
    it('well, and its code comes back', async () => {
      const socket = await open(url);
      socket.close(1000, 'bye');
      assert.equal((await once(socket, 'close'))[0], 1000);
    });

    it('after a script has told it to, with its reason', async () => {
      const socket = await open(url);
      socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'leave', params: ['closing time'] }));
      const [code, reason] = await once(socket, 'close');
      assert.equal(code, 1000);
      assert.equal(reason.toString(), 'closing time');
    });

    it('with 1003 when it sent binary', async () => {
      const socket = await open(url);
      socket.send(Buffer.from('{}'));
      assert.equal((await once(socket, 'close'))[0], 1003);
    });

    it('with 1007 when its text is no UTF-8', async () => {
      const socket = await open(url);
      socket.send(Buffer.from([0x22, 0xff, 0x22]), { binary: false });
      assert.equal((await once(socket, 'close'))[0], 1007);
    });

    it('with 1009 when its message is too long', async () => {
      const socket = await open(url);
      socket.on('error', () => {}); // it may still be sending
      socket.send(`"${'x'.repeat(5 << 20)}"`);
      assert.equal((await once(socket, 'close'))[0], 1009);
    });
  });

  describe('is refused', () => {
    it('from a page of another host', async () => {
      assert.equal(await refused(url, { origin: 'http://evil.example' }), 403);
    });

    it('by a name that is not ours', async () => {
      assert.equal(await refused(url, { headers: { host: 'evil.example' } }), 403);
    });

    it('on another path', async () => {
      assert.equal(await refused(new URL('/other', url).href), 404);
    });
  });

  it('hears 1001 when the server ends', async () => {
    const [http] = await serve(METHODS, 'http://127.0.0.1:0');
    const socket = await open(http.replace('http', 'ws'));
    serving(http).kill('SIGTERM');
    assert.equal((await once(socket, 'close'))[0], 1001);
  });
});

describe('ws, where the config file says more', () => {
  let url;

  before(async () => {
    const config = path.join(os.tmpdir(), `moonrpc-${process.pid}.lua`);
    fs.writeFileSync(config, `return { websocket = {
      ping = 0.05, pong = 0.5, binary = true, protocols = { "one", "two" },
    } }`);
    const [http] = await serveWith(['--config', config], METHODS, 'http://127.0.0.1:0');
    fs.unlinkSync(config);
    url = http.replace('http', 'ws');
  });

  it('agrees on a subprotocol', async () => {
    const socket = await open(url, undefined, ['three', 'two', 'one']);
    assert.equal(socket.protocol, 'two');
    assert.deepEqual(await ask(socket, SUBTRACT), ANSWER);
    socket.terminate();
  });

  it('sends binary', async () => {
    const socket = await open(url);
    const answer = next(socket);
    socket.send(Buffer.from(JSON.stringify(SUBTRACT)));
    assert.deepEqual(await answer, ANSWER);
    socket.terminate();
  });

  it('is asked for signs of life, and kept while it gives them', async () => {
    const socket = await open(url);
    for (let i = 0; i < 3; i++) await once(socket, 'ping');
    assert.deepEqual(await ask(socket, SUBTRACT), ANSWER);
    socket.terminate();
  });

  it('is closed when it gives none', async () => {
    const socket = await open(url, { autoPong: false });
    await once(socket, 'ping');
    await once(socket, 'close');
  });
});
