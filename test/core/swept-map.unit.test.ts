import { expect, test } from 'vitest';
import { SweptMap } from '../../src/core/swept-map.ts';

test('a key without a value is forgotten with 1000 others, and no value with it', () => {
  const map = new SweptMap<number>();
  map.set('kept', 1);
  for (let n = 0; n < 10_000; n += 1) {
    map.set(`key ${n}`, n + 1);
    map.delete(`key ${n}`);
    map.delete(`key ${n}`);
    expect(map.get(`key ${n}`)).toBeUndefined();
  }
  expect(map.size).toBeLessThanOrEqual(1002);
  expect(map.get('kept')).toBe(1);
});

test('a key that gets a value again is not counted as empty', () => {
  const map = new SweptMap<number>();
  for (let n = 0; n < 10_000; n += 1) {
    map.set('key', n + 1);
    expect(map.get('key')).toBe(n + 1);
    map.delete('key');
  }
  map.set('key', 1);
  for (let n = 0; n < 1000; n += 1) {
    map.set(`key ${n}`, 1);
    map.delete(`key ${n}`);
  }
  // A sweep would have left one key only.
  expect(map.size).toBe(1001);
});
