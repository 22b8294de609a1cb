import { expect, test } from 'vitest';
import { parseExactJson } from '../../src/core/text/exact-json.ts';

/** CPU time in microseconds, the least of several: nothing else makes it shorter. */
function cpuOf(work: () => unknown): number {
  const times = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.max(1, Math.min(...times));
}

test.each([
  ['a list of numbers', `${'1,'.repeat(200_000)}1`],
  ['a list of lists', `${'[],'.repeat(150_000)}1`],
  ['a list of texts', `${'"",'.repeat(150_000)}1`],
  ['a list of objects', `${'{},'.repeat(150_000)}1`],
])('one long number does not make reading %s slow', (_, items) => {
  const [usual, odd] = [`[0,${items}]`, `[12345678901234567890,${items}]`];
  // The comparison is with JSON.parse. The reviver of JSON.parse takes 20 times as long.
  expect(cpuOf(() => parseExactJson(odd)) / cpuOf(() => JSON.parse(usual))).toBeLessThan(10);
});

test.each([
  ['a fraction with zeros in its middle', (count: number) => `[0.1${'0'.repeat(count)}1]`],
  ['digits', (count: number) => `[${'7'.repeat(count)}]`],
  ['numbers in a text', (count: number) => `["${',1234567890123456'.repeat(count / 16)}",1234567890123456789]`],
  ['quotation marks in a text', (count: number) => `["${String.raw`\\\"`.repeat(count / 4)}",1234567890123456789]`],
])('the time that %s take grows at most as their length', (_, documentOf) => {
  const [small, large] = [documentOf(100_000), documentOf(400_000)];
  const of = (document: string) => cpuOf(() => Array.from({ length: 5 }, () => parseExactJson(document)));
  expect(of(large) / of(small)).toBeLessThan(8);
});
