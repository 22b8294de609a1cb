import { setImmediate as nextIteration } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RawJson, stringifyWithRawJson } from '../../../src/core/text/raw-json.ts';
import { stringifyInSteps } from '../../../src/core/text/stepwise-json.ts';

const MIB = 1024 * 1024;

test('gives the text that is written at once, for values of every size', async () => {
  const long = 'é"\\'.repeat(50_000);
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (any) => {
      const small = { any, raw: new RawJson('{ "a": 1.0 }') };
      const value = { small, list: [long, small, [], {}, null, { [long]: long, '"name"': any }], long, nothing: null };
      expect(await stringifyInSteps(small)).toBe(stringifyWithRawJson(small));
      expect(await stringifyInSteps(value)).toBe(stringifyWithRawJson(value));
    }),
  );
});

test.each([
  ['a list of small values', Array.from({ length: 40_000 }, (_, index) => ({ index, text: 'x'.repeat(100) }))],
  ['members with long texts', Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`a${n}`, 'x'.repeat(MIB / 2)]))],
  ['raw values', Array.from({ length: 8 }, () => [new RawJson(`"${'x'.repeat(MIB / 2)}"`)])],
])('other work runs while %s of four megabytes are written', async (_, value) => {
  let isWritten = false;
  const written = stringifyInSteps(value).then((text) => {
    isWritten = true;
    return text;
  });
  let turns = 0;
  while (!isWritten) {
    turns += 1;
    await nextIteration();
  }
  expect((await written).length).toBeGreaterThan(4 * MIB);
  expect(turns).toBeGreaterThanOrEqual(8);
});
