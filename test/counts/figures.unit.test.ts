import { expect, test } from 'vitest';
import { faultsOf, grownFunctions, largest } from './figures.ts';

const STORED = { allocated: 50_000, promoted: 30, statements: 2, rows: 100 };

test('figures within 5 % are as stored, and up to 60 promoted bytes', () => {
  expect(faultsOf(STORED, STORED)).toEqual([]);
  expect(faultsOf({ allocated: 52_400, promoted: 59, statements: 2.04, rows: 96 }, STORED)).toEqual([]);
});

test.each([
  [{ allocated: 53_000 }, 'allocated: 50,000 → 53,000 (more)'],
  [{ allocated: 47_000 }, 'allocated: 50,000 → 47,000 (less: write the figures)'],
  [{ promoted: 1_113 }, 'promoted: 1,113, at most 60'],
  [{ statements: 3 }, 'statements: 2 → 3 (more)'],
  [{ rows: 19_100 }, 'rows: 100 → 19,100 (more)'],
])('another figure is a fault: %o', (found, fault) => {
  expect(faultsOf({ ...STORED, ...found }, STORED)).toEqual([fault]);
});

test('what promotes more has its reason, and then at most twice as much', () => {
  const stored = { ...STORED, promoted: 200 };
  expect(faultsOf({ ...STORED, promoted: 399 }, stored)).toEqual(['promotedBecause: is missing in figures.json']);
  expect(faultsOf({ ...STORED, promoted: 399 }, { ...stored, promotedBecause: 'it is large' })).toEqual([]);
  expect(faultsOf({ ...STORED, promoted: 401 }, { ...stored, promotedBecause: 'it is large' })).toEqual([
    'promoted: 401, at most 400',
  ]);
});

test('a kind without figures is a fault', () => {
  expect(faultsOf(STORED, undefined)).toEqual(['no figures are stored']);
});

test('functions that allocate more, old beside new', () => {
  const before = largest({ read: 500.4, write: 300, parse: 20 }, 2);
  expect(before).toEqual({ read: 500, write: 300 });
  expect(grownFunctions({ read: 600, write: 250, parse: 2_000 }, before)).toEqual([
    '  (few) → 2,000  parse',
    '  500 → 600  read',
  ]);
});
