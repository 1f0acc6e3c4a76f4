// A reporter for Node's test runner: plain TAP, one line a test. That of Node
// itself has YAML that prove can't read.
import { inspect } from 'node:util';

const comment = (text) => text.replace(/^/gm, '# ') + '\n';

export default async function* tap(source) {
  const path = [];
  let count = 0;

  for await (const { type, data } of source) {
    if (type === 'test:start') path[data.nesting] = data.name;
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const ok = type === 'test:pass';
    const isSuite = data.details.type === 'suite';
    if (isSuite && (ok || data.details.error.failureType === 'subtestsFailed')) continue;
    const name = [...path.slice(0, data.nesting), data.name].join(' ').replaceAll('#', '\\#');
    yield `${ok ? 'ok' : 'not ok'} ${++count} - ${name}\n`;
    if (!ok) yield comment(inspect(data.details.error.cause ?? data.details.error));
  }
  yield `1..${count}\n`;
}
