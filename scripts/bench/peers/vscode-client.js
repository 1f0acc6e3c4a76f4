// vscode-jsonrpc as the client of a server that calls it; does what answer.c
// does: node vscode-client.js IN_FLIGHT SECONDS WARM_UP COMMAND...
'use strict';
const { spawn } = require('child_process');
const rpc = require('vscode-jsonrpc/node');

const [inFlight, seconds, warmUp, program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(child.stdout),
  new rpc.StreamMessageWriter(child.stdin));
let answered = 0;
let began;

connection.onRequest('subtract', (minuend, subtrahend) => {
  answered++;
  return minuend - subtrahend;
});
connection.listen();

const sleep = (s) => new Promise((resolve) => setTimeout(resolve, s * 1000));
const now = () => Number(process.hrtime.bigint()) / 1e9;

async function count() {
  await sleep(Number(warmUp));
  began = { time: now(), answered };
  await sleep(Number(seconds));
  const calls = answered - began.answered;
  const elapsed = now() - began.time;
  connection.sendNotification('drive.stop');
  return { calls, elapsed };
}

async function main() {
  const [right, { calls, elapsed }] = await Promise.all([
    connection.sendRequest('drive.start', Number(inFlight)), count()]);
  if (right !== answered) {
    throw new Error(`${answered} answers given, ${right} of them right`);
  }
  console.log(`calls=${calls} seconds=${elapsed.toFixed(6)} ` +
              `rate=${Math.round(calls / elapsed)}`);
  child.stdin.end();
  process.exitCode = await new Promise((resolve) => child.on('exit', resolve));
}

main();
