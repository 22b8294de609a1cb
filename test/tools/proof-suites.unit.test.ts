import { existsSync, globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { caseFaults } from '../support/completeness.ts';
import { SUITES } from './proof-suites.ts';

test('every suite that records figures is listed with its test, and test/proof/results.json has figures of no other', () => {
  const recorded = globSync('test/**/*.test.ts', { exclude: ['test/conformance/node_modules/**'] }).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\bproof\('(.+?)', \{/g)].map(([, suite]) => `${suite} (${file})`),
  );
  const isOfBenchmark = (file: string) => file.startsWith('test/bench/');
  const cases = SUITES.flatMap(({ suite, test: file }) => (isOfBenchmark(file) ? [] : [`${suite} (${file})`]));
  expect(caseFaults('test/tools/proof-suites.ts', cases, recorded)).toBe('');
  const programs = SUITES.map(({ test: file }) => file).filter(isOfBenchmark);
  expect(programs.filter((file) => !existsSync(file))).toEqual([]);
  const known = new Set(SUITES.map(({ suite }) => suite));
  const results = Object.keys(JSON.parse(readFileSync('test/proof/results.json', 'utf8')) as object);
  expect(results.filter((suite) => !known.has(suite))).toEqual([]);
});
