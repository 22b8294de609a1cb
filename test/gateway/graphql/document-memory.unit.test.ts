import { expect, test } from 'vitest';
import { createKnownDocuments } from '../../../src/gateway/graphql/documents.ts';
import { memoryOf } from '../../../src/graphql-executor/document-size.ts';
import { LIMITS } from '../../../src/core/graphql/document-limits.ts';
import { parseWithinLimits } from '../../../src/gateway/graphql/limits.ts';

const BOUND_BYTES = 32 * 1024 * 1024;

/** A document of the maximum size that consists almost only of tokens. It differs for each number. */
function largest(n: number): string {
  const fields = '__typename '.repeat(LIMITS.tokens - 20);
  return `query Q${n} {${fields}} #`.padEnd(LIMITS.queryBytes, 'x');
}

test('G1: however many documents are sent, the stored ones take at most 32 MiB, and the last one is stored', () => {
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

test('G1: the size of a document is larger than its text and grows with the number of its tokens', () => {
  const text = largest(1);
  const short = parseWithinLimits('{__typename}');
  const commented = parseWithinLimits(`{__typename} #${'x'.repeat(60_000)}`);
  expect(memoryOf(commented)).toBeGreaterThan(memoryOf(short) + 60_000);
  expect(memoryOf(parseWithinLimits(text))).toBeGreaterThan(memoryOf(commented) + 100 * LIMITS.tokens);
});
