// What the tests of clients need: the program on free ports, deadlines, and an
// end of both. MOONRPC names the program, MOONRPC_PATIENCE the seconds that a
// test may take.
'use strict';
const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { after, it } = require('node:test');

const PROGRAM = process.env.MOONRPC || 'build/moonrpc';
const PATIENCE = Number(process.env.MOONRPC_PATIENCE || 15) * 1000;

const running = new Set();

process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));
setTimeout(() => {
  console.error('the tests came to no end');
  process.exit(1);
}, 8 * PATIENCE).unref();

// As that of node:test, with a deadline.
const deadlined = (name, fn) => it(name, { timeout: PATIENCE }, fn);

// Starts the program; `err` of the result is what it has logged so far.
function start(args) {
  const child = spawn(PROGRAM, args);
  running.add(child);
  child.err = '';
  child.ended = once(child, 'exit').then(([code]) => {
    running.delete(child);
    return code;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    child.err += text;
    child.emit('log');
  });
  return child;
}

// Waits for the end of a child, which must be a good one.
async function finish(child, code = 0) {
  const ended = await child.ended;
  assert.equal(ended, code, `ended with ${ended}:\n${child.err}`);
  assert.doesNotMatch(child.err, /Sanitizer|runtime error:/);
}

const servers = new Map(); // by their addresses

after(async () => {
  for (const child of new Set(servers.values())) {
    child.kill('SIGTERM');
    await finish(child);
  }
  running.forEach((child) => child.kill('SIGKILL')); // of tests that failed
});

// Serves `dir`: the addresses with their real ports. It is drained when the
// tests of the file are through, and must end well.
const serve = (dir, ...listen) => serveWith([], dir, ...listen);

// The same with further arguments.
async function serveWith(args, dir, ...listen) {
  const child = start(['serve', dir, '--no-watch', ...args,
    ...listen.flatMap((url) => ['--listen', url])]);
  const gone = child.ended.then((code) => {
    throw new Error(`ended with ${code} before it listened: ${child.err}`);
  });
  gone.catch(() => {});
  const urls = () => [...child.err.matchAll(/listening on (\S+).*\n/g)].map((m) => m[1]);
  while (urls().length < listen.length) {
    await Promise.race([once(child, 'log'), gone]);
  }
  for (const url of urls()) servers.set(url, child);
  return urls();
}

// The program that serves at an address.
const serving = (url) => servers.get(url);

// Starts the program with its stdin and stdout as the wire.
function serveStdio(dir, framing = 'header') {
  return start(['serve', dir, '--no-watch', '--listen', `stdio:?framing=${framing}`]);
}

// A promise with its handles outside.
function deferred() {
  const self = {};
  self.promise = new Promise((resolve, reject) => Object.assign(self, { resolve, reject }));
  return self;
}

module.exports = { it: deadlined, serve, serveWith, serving, serveStdio, finish, deferred };
