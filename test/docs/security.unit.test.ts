import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const text = readFileSync('docs/security.md', 'utf8');
const findingsText = readFileSync('test/docs/security-findings.md', 'utf8');

test('every test that docs/security.md and the list of findings name exists', () => {
  const named = [text, findingsText].flatMap((page) => [...new Set(page.match(/(?<=`)test\/[^`]+(?=`)/g))]);
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((pattern) => globSync(pattern).length === 0)).toEqual([]);
});

test('the list has a row for every finding of both reviews', () => {
  const findings = [...findingsText.matchAll(/^\| ([HML]\d+) /gm)].map(([, finding]) => finding);
  const numbered = (letter: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);
  expect(findings).toEqual([
    ...numbered('H', 3),
    ...numbered('M', 10),
    ...numbered('L', 14),
    ...numbered('H', 3),
    ...numbered('M', 8),
    ...numbered('L', 15),
  ]);
});
