#!/usr/bin/env -S node --test-reporter=./tests/clients/tap.mjs
// A session as vscode-languageclient has it, with examples/lsp on stdio.
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { before, after, describe } = require('node:test');
const lsp = require('vscode-languageserver-protocol/node');
const { it, serveStdio, finish, deferred } = require('./support');

const URI = 'file:///work/hello.lua';

function connect(child) {
  const connection = lsp.createProtocolConnection(
    new lsp.StreamMessageReader(child.stdout), new lsp.StreamMessageWriter(child.stdin));
  connection.listen();
  return connection;
}

const initialize = (connection, root = null) =>
  connection.sendRequest(lsp.InitializeRequest.type, {
    processId: process.pid,
    rootUri: root && pathToFileURL(root).href,
    capabilities: { window: { workDoneProgress: true } },
  });

describe('a language client with examples/lsp', () => {
  let child, client, root;
  let version = 0;

  before(() => {
    root = fs.mkdtempSync(path.join(os.tmpdir(), 'moonrpc lsp-'));
    child = serveStdio('examples/lsp');
    client = connect(child);
  });

  after(() => fs.rmSync(root, { recursive: true }));

  const nextDiagnostics = () => {
    const { promise, resolve } = deferred();
    const handler = client.onNotification(lsp.PublishDiagnosticsNotification.type, (params) => {
      handler.dispose();
      resolve(params);
    });
    return promise;
  };

  const at = (line, character) => ({ textDocument: { uri: URI }, position: { line, character } });
  const labels = async (position) =>
    (await client.sendRequest(lsp.CompletionRequest.type, position)).map((item) => item.label);
  const change = (contentChanges) =>
    client.sendNotification(lsp.DidChangeTextDocumentNotification.type,
      { textDocument: { uri: URI, version: ++version }, contentChanges });

  it('is refused before initialize', async () => {
    await assert.rejects(client.sendRequest(lsp.HoverRequest.type, at(0, 0)), { code: -32002 });
  });

  it('is told what the server can', async () => {
    const { capabilities, serverInfo } = await initialize(client, root);
    assert.equal(capabilities.textDocumentSync.change, lsp.TextDocumentSyncKind.Incremental);
    assert.deepEqual(capabilities.completionProvider.triggerCharacters, ['.']);
    assert.match(serverInfo.name, /moonrpc/);
    await client.sendNotification(lsp.InitializedNotification.type, {});
    await assert.rejects(initialize(client), { code: -32600 });
  });

  it('is told what is wrong with a document', async () => {
    const diagnostics = nextDiagnostics();
    client.sendNotification(lsp.DidOpenTextDocumentNotification.type, {
      textDocument: { uri: URI, languageId: 'lua', version: ++version, text: 'local x = 1\nlocal = 2\n' },
    });
    const told = await diagnostics;
    assert.equal(told.uri, URI);
    assert.equal(told.version, version);
    assert.equal(told.diagnostics.length, 1);
    const [fault] = told.diagnostics;
    assert.equal(fault.range.start.line, 1);
    assert.equal(fault.severity, lsp.DiagnosticSeverity.Error);
    assert.equal(fault.message, "<name> expected near '='");
  });

  it('mends it by a change of a range, and is told so', async () => {
    const diagnostics = nextDiagnostics();
    const place = { line: 1, character: 6 };
    change([{ range: { start: place, end: place }, text: 'y ' }]);
    assert.deepEqual((await diagnostics).diagnostics, []);
  });

  it('counts columns in units of UTF-16', async () => {
    change([
      { text: 'local s = "𝄞ö" str' },
      { range: { start: { line: 0, character: 11 }, end: { line: 0, character: 14 } }, text: '' },
    ]);
    // What is left: local s = "" str
    assert.deepEqual(await labels(at(0, 16)), ['string']);
  });

  it('completes members, globals, keywords and words', async () => {
    change([{ text: 'local function foobar() end\nstring.f\nfo\nrpc.sl' }]);
    assert.deepEqual(await labels(at(1, 8)), ['find', 'format']);
    assert.deepEqual(await labels(at(2, 2)), ['foobar', 'for']);
    assert.deepEqual(await labels(at(3, 6)), ['sleep']);
    const [item] = await client.sendRequest(lsp.CompletionRequest.type, at(1, 8));
    assert.equal(item.kind, lsp.CompletionItemKind.Function);
  });

  it('hovers', async () => {
    change([{ text: 'print(string.format("%d", math.maxinteger))' }]);
    const format = await client.sendRequest(lsp.HoverRequest.type, at(0, 15));
    assert.match(format.contents.value, /^`string\.format`: function/);
    const max = await client.sendRequest(lsp.HoverRequest.type, at(0, 33));
    assert.match(max.contents.value, /`math\.maxinteger`: number 9223372036854775807/);
    assert.equal(await client.sendRequest(lsp.HoverRequest.type, at(0, 21)), null);
  });

  it('is told that a document is not open', async () => {
    await assert.rejects(client.sendRequest(lsp.HoverRequest.type,
      { ...at(0, 0), textDocument: { uri: 'file:///other.lua' } }), { code: -32602 });
  });

  it('finds functions in the workspace, and sees how far it is', async () => {
    fs.mkdirSync(path.join(root, 'lib'));
    fs.writeFileSync(path.join(root, 'lib', 'a b.lua'), '\nlocal function greet() end\n');
    fs.writeFileSync(path.join(root, 'c.lua'), 'function M.greetAll() end\nfunction other() end\n');
    const kinds = [];
    const progress = client.onProgress(lsp.WorkDoneProgress.type, 'search',
      (value) => kinds.push(value.kind));
    const found = await client.sendRequest(lsp.WorkspaceSymbolRequest.type,
      { query: 'GREET', workDoneToken: 'search' });
    found.sort((a, b) => (a.name < b.name ? -1 : 1));
    assert.deepEqual(found.map(({ name }) => name), ['M.greetAll', 'greet']);
    assert.equal(found[1].location.uri, pathToFileURL(path.join(root, 'lib', 'a b.lua')).href);
    assert.deepEqual(found[1].location.range.start, { line: 1, character: 0 });
    assert.deepEqual(kinds, ['begin', 'report', 'report', 'end']);
    progress.dispose();
  });

  const trim = (token) => client.sendRequest(lsp.ExecuteCommandRequest.type,
    { command: 'trim', arguments: [URI] }, token);

  it('is called to edit, while its own call waits', async () => {
    change([{ text: 'local a  \n-- 𝄞\t\n\nreturn a' }]);
    const edits = deferred();
    const handler = client.onRequest(lsp.ApplyWorkspaceEditRequest.type, ({ edit }) => {
      edits.resolve(edit.changes[URI]);
      return { applied: true };
    });
    assert.deepEqual(await trim(), { applied: true });
    assert.deepEqual(await edits.promise, [
      { newText: '', range: lsp.Range.create(0, 7, 0, 9) },
      { newText: '', range: lsp.Range.create(1, 5, 1, 6) },
    ]);
    handler.dispose();
  });

  it('cancels a command, and sees that the call to it is cancelled too', async () => {
    const source = new lsp.CancellationTokenSource();
    const cancelled = deferred();
    const handler = client.onRequest(lsp.ApplyWorkspaceEditRequest.type, (_, token) => {
      token.onCancellationRequested(cancelled.resolve);
      source.cancel();
      return cancelled.promise.then(() => ({ applied: false }));
    });
    await assert.rejects(trim(source.token), { code: -32800 });
    await cancelled.promise;
    handler.dispose();
    assert.deepEqual(await labels(at(3, 3)), ['return']);
  });

  it('closes the document, whose diagnostics go', async () => {
    const diagnostics = nextDiagnostics();
    client.sendNotification(lsp.DidCloseTextDocumentNotification.type,
      { textDocument: { uri: URI } });
    assert.deepEqual((await diagnostics).diagnostics, []);
  });

  it('shuts down, and the server exits with 0', async () => {
    assert.equal(await client.sendRequest(lsp.ShutdownRequest.type), null);
    await assert.rejects(client.sendRequest(lsp.HoverRequest.type, at(0, 0)), { code: -32600 });
    client.sendNotification(lsp.ExitNotification.type);
    await finish(child);
  });
});

describe('a language client that forgets shutdown', () => {
  it('sees examples/lsp exit with 1', async () => {
    const child = serveStdio('examples/lsp');
    const client = connect(child);
    await initialize(client);
    client.sendNotification(lsp.ExitNotification.type);
    await finish(child, 1);
  });
});
