import { expect, test } from 'vitest';
import { loadBatched } from '../../../src/core/graphql/batches.ts';

const fails = () => {
  throw new Error('refused');
};

test('a load that throws at once rejects every key of its batch, and the next batch is loaded', async () => {
  const request = {};
  const refused = ['a', 'b'].map((key) => loadBatched(request, 'field', key, fails).catch(String));
  expect(await Promise.all(refused)).toEqual(['Error: refused', 'Error: refused']);
  const load = async (keys: readonly string[]) => new Map(keys.map((key) => [key, key.toUpperCase()]));
  expect(await loadBatched(request, 'field', 'a', load)).toBe('A');
});

test('keys that are asked for at the same moment are loaded together, each once', async () => {
  const loads: (readonly string[])[] = [];
  const load = async (keys: readonly string[]) => {
    loads.push(keys);
    return new Map(keys.map((key) => [key, key]));
  };
  const request = {};
  expect(await Promise.all(['a', 'b', 'a'].map((key) => loadBatched(request, 'field', key, load)))).toEqual([
    'a',
    'b',
    'a',
  ]);
  expect(loads).toEqual([['a', 'b']]);
});
