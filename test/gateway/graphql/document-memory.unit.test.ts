import { expect, test } from 'vitest';
import { createKnownDocuments } from '../../../src/gateway/graphql/known-documents.ts';
import { memoryOf } from '../../../src/graphql-executor/document-size.ts';
import { LIMITS, parseWithinLimits } from '../../../src/gateway/graphql/limits.ts';

const BOUND_BYTES = 32 * 1024 * 1024;

/** Of the largest size that is parsed, nearly all of it tokens, and different for each number. */
function largest(n: number): string {
  const fields = '__typename '.repeat(LIMITS.tokens - 20);
  return `query Q${n} {${fields}} #`.padEnd(LIMITS.queryBytes, 'x');
}

test('G1: however many documents come, those that are kept count 32 MiB at most, and the last one is among them', () => {
  const known = createKnownDocuments();
  const added = 3 * Math.ceil(BOUND_BYTES / memoryOf(parseWithinLimits(largest(0))));
  for (let n = 0; n < added; n += 1) {
    const text = largest(n);
    known.set(text, parseWithinLimits(text));
    expect(known.calculatedSize).toBeLessThanOrEqual(BOUND_BYTES);
  }
  expect(known.size).toBeLessThan(added / 2);
  expect(known.has(largest(added - 1))).toBe(true);
});

test('G1: a document counts for more than its text, and for more the more tokens it has', () => {
  const text = largest(1);
  const short = parseWithinLimits('{__typename}');
  const commented = parseWithinLimits(`{__typename} #${'x'.repeat(60_000)}`);
  expect(memoryOf(commented)).toBeGreaterThan(memoryOf(short) + 60_000);
  expect(memoryOf(parseWithinLimits(text))).toBeGreaterThan(memoryOf(commented) + 100 * LIMITS.tokens);
});
