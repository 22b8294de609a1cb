import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** The files of mutation tests are named in two places, which do not follow when a file moves. */

const root = join(import.meta.dirname, '../..');

test('the table of mutants names files that exist', () => {
  const rows = readFileSync(join(root, 'test/tools/mutants.md'), 'utf8').matchAll(
    /^\| `(src\/[^`]+)` +\| (.+\d+\/\d+) +\|$/gm,
  );
  const named = [...rows].flatMap(([, folder = '', files = '']) =>
    files.split(', ').map((file) => `${folder}/${file.split(' ')[0]}.ts`),
  );
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

test('each pattern of stryker.json, with each of its alternatives, finds a file', () => {
  const { mutate } = JSON.parse(readFileSync(join(root, 'test/tools/stryker.json'), 'utf8')) as { mutate: string[] };
  const patterns = mutate.flatMap((pattern) => {
    const [, before = pattern, alternatives = '', after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? [];
    return alternatives.split(',').map((alternative) => before + alternative + after);
  });
  expect(patterns.filter((pattern) => globSync(pattern, { cwd: root }).length === 0)).toEqual([]);
});
