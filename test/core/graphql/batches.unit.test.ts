import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { GraphQLResolveInfo } from 'graphql';
import { expect, test } from 'vitest';
import { type LoadBatch, resolveBatched } from '../../../src/core/graphql/batches.ts';

const INFO = { parentType: { name: 'Session' }, fieldName: 'artifacts' } as GraphQLResolveInfo;
const loadBatched = <Result>(context: object, key: string, load: LoadBatch<string, Result>) =>
  resolveBatched({ context, info: INFO }, key, load);

const fails = () => {
  throw new Error('refused');
};

test('a load that throws synchronously rejects every key of its batch, and the next batch is loaded', async () => {
  const request = {};
  const refused = ['a', 'b'].map((key) => loadBatched(request, key, fails).catch(String));
  expect(await Promise.all(refused)).toEqual(['Error: refused', 'Error: refused']);
  const load = async (keys: readonly string[]) => new Map(keys.map((key) => [key, key.toUpperCase()]));
  expect(await loadBatched(request, 'a', load)).toBe('A');
});

test('keys that are requested at the same time are loaded together, each once', async () => {
  const loads: (readonly string[])[] = [];
  const load = async (keys: readonly string[]) => {
    loads.push(keys);
    return new Map(keys.map((key) => [key, key]));
  };
  const request = {};
  expect(await Promise.all(['a', 'b', 'a'].map((key) => loadBatched(request, key, load)))).toEqual(['a', 'b', 'a']);
  expect(loads).toEqual([['a', 'b']]);
});

test('a copy of a context has separate batches, so that nothing is loaded with the rights of another caller', async () => {
  const loads: [by: string, keys: readonly string[]][] = [];
  const loadBy = (by: string) => async (keys: readonly string[]) => {
    loads.push([by, keys]);
    return new Map(keys.map((key) => [key, by]));
  };
  const context = { actor: 'first' };
  const first = loadBatched(context, 'a', loadBy('first'));
  const second = loadBatched({ ...context, actor: 'second' }, 'b', loadBy('second'));
  expect(await Promise.all([first, second])).toEqual(['first', 'second']);
  expect(loads).toEqual([
    ['first', ['a']],
    ['second', ['b']],
  ]);
});

test('parents of one field are loaded together; fields of another type, name, arguments or columns are loaded separately', async () => {
  const context = {};
  const infoOf = (name: string, fieldName: string) => ({ parentType: { name }, fieldName }) as GraphQLResolveInfo;
  const info = infoOf('Session', 'artifacts');
  const fields: [info: GraphQLResolveInfo, args?: object, columns?: readonly string[]][] = [
    [info],
    [info, { first: 1 }],
    [info, { first: 2 }],
    [info, undefined, []],
    [info, undefined, ['a']],
    [info, undefined, ['b']],
    [info, undefined, ['b', 'a']],
    [info, undefined, ['b', 'c']],
    [infoOf('Session', 'events')],
    [infoOf('Project', 'artifacts')],
  ];
  const loads: (readonly string[])[] = [];
  const load = async (keys: readonly string[]) => {
    loads.push(keys);
    return new Map(keys.filter((key) => key.startsWith('a')).map((key) => [key, key]));
  };
  const found = await Promise.all(
    ['a', 'b'].flatMap((parent) =>
      fields.map(([of, args, columns], index) =>
        resolveBatched({ context, info: of, ...(args && { args }) }, `${parent}${index}`, load, columns, 'none'),
      ),
    ),
  );
  expect(loads).toEqual(fields.map((_, index) => [`a${index}`, `b${index}`]));
  expect(found).toEqual([...fields.map((_, index) => `a${index}`), ...fields.map(() => 'none')]);
});

test('a long-lived context, such as that of a subscription, keeps no reference to resolved fields', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { type: 'major'; execution: 'async' }) => Promise<void>;
  const context = {};
  const resolveOne = async () => {
    const info = { parentType: { name: 'Session' }, fieldName: 'artifacts' } as GraphQLResolveInfo;
    await resolveBatched({ context, info }, 'a', async () => new Map([['a', 1]]));
    return new WeakRef(info);
  };
  const resolved = await resolveOne();
  await collect({ type: 'major', execution: 'async' });
  expect(resolved.deref()).toBeUndefined();
  expect(Object.keys(context)).toEqual([]);
});
