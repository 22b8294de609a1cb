import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

/** The lines of a text in which one of our rules finds a fault. */
function faultyLines(rule: string, text: string): number[] {
  const folder = mkdtempSync(join(tmpdir(), 'lint-'));
  try {
    const config = {
      categories: { correctness: 'off' },
      jsPlugins: [resolve('test/tools/lint-rules.ts')],
      rules: { [`own/${rule}`]: 'error' },
    };
    writeFileSync(join(folder, '.oxlintrc.json'), JSON.stringify(config));
    writeFileSync(join(folder, 'code.ts'), text);
    let output = '';
    try {
      execFileSync(resolve('node_modules/.bin/oxlint'), ['-f', 'unix', 'code.ts'], { cwd: folder });
    } catch (error) {
      output = String((error as { stdout?: unknown }).stdout);
    }
    return [...output.matchAll(/^code\.ts:(\d+):/gm)].map(([, line]) => Number(line));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('a list of any length is not spread into the arguments of a call', () => {
  const faulty = [
    'Math.max(...list);',
    'found.push(...(await read()));',
    'String.fromCharCode(...codes.map(Number));',
    'new Some(1, ...Object.keys(given));',
    'Math.max.apply(undefined, list);',
    'const some = (...given) => (list) => f(...list);',
  ];
  const allowed = [
    'const copy = [...list, ...{ ...given }.items];',
    'const run = (...given) => f(...given, ...given.map(String));',
    'function call(...given) { return () => method.apply(this, given); }',
    'function hook(given: Parameters<Method>) { f(...given); }',
    'f(...NAMES, ...KEYS_OF[order].names);',
    'plan.apply(query);',
  ];
  const text = [...faulty, ...allowed].join('\n');
  expect(faultyLines('no-unbounded-arguments', text)).toEqual(faulty.map((_, index) => index + 1));
});

test('no test is skipped without a reason', () => {
  const faulty = [
    "test.skipIf(isMissing())('some', run);",
    "describe.runIf(isThere)('some', run);",
    'beforeEach(({ skip }) => skip(!isThere));',
    'skip();',
    'skip(count === 0);',
  ];
  const allowed = ["skip(!isThere, 'it is not there');", 'const disk = made ?? skip(NOT_ALLOWED);', 'list.skip();'];
  const text = [...faulty, ...allowed].join('\n');
  expect(faultyLines('no-silent-skip', text)).toEqual(faulty.map((_, index) => index + 1));
});
