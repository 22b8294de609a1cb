import { describe, expect, test } from 'vitest';
import { firstFreeSlug, slugFromName } from '../../../src/domains/organizations/creation.ts';

describe('the slug of a name', () => {
  test.each([
    ['Ünïcode & Großhandel', 'unicode-grosshandel'],
    ['  --Acme // Ltd.-- ', 'acme-ltd'],
    ['4 you', '4-you'],
    ['Заказ 7', '7'],
  ])('%j is %s', (name, slug) => {
    expect(slugFromName(name)).toBe(slug);
  });

  test.each(['', '!?', 'Заказ', '-'])('%j has none', (name) => {
    expect(slugFromName(name)).toBeUndefined();
  });

  test('has at most 100 characters, and does not end with a hyphen', () => {
    expect(slugFromName('x'.repeat(101))).toBe('x'.repeat(100));
    expect(slugFromName(`${'x'.repeat(99)} y`)).toBe('x'.repeat(99));
  });
});

test('a slug that is taken gets the first free number, and is shortened for it', () => {
  expect(firstFreeSlug('acme', new Set())).toBe('acme');
  expect(firstFreeSlug('acme', new Set(['acme', 'acme-2']))).toBe('acme-3');
  const long = 'x'.repeat(100);
  expect(firstFreeSlug(long, new Set([long]))).toBe(`${'x'.repeat(98)}-2`);
});
