import { existsSync, globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { caseFaults } from '../support/completeness.ts';
import { SUITES } from './proof-suites.ts';

test('every suite that records figures is listed with its test, and docs/proof.md has figures of no other', () => {
  const recorded = globSync('test/**/*.test.ts', { exclude: ['test/conformance/node_modules/**'] }).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\bproof\('(.+?)', \{/g)].map(([, suite]) => `${suite} (${file})`),
  );
  const listed = SUITES.flatMap(([, suites]) => suites);
  const isOfBenchmark = (file: string) => file.startsWith('test/bench/');
  const cases = listed.flatMap(({ suite, test: file }) => (isOfBenchmark(file) ? [] : [`${suite} (${file})`]));
  expect(caseFaults('test/tools/proof-suites.ts', cases, recorded)).toBe('');
  const programs = listed.map(({ test: file }) => file).filter(isOfBenchmark);
  expect(programs.filter((file) => !existsSync(file))).toEqual([]);
  const sections = [...readFileSync('docs/proof.md', 'utf8').matchAll(/^### (.+)$/gm)].map(([, title]) => title);
  const known = new Set(listed.map(({ suite }) => suite));
  expect(sections.filter((title = '') => !known.has(title))).toEqual([]);
});
