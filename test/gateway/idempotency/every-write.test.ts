import { afterAll, beforeAll, expect, test } from 'vitest';
import { takesIdempotencyKey } from '../../../src/core/http/route.ts';
import { sendKeyed, visibleParts } from '../../support/fixtures/idempotency.ts';
import { dumpTables } from '../../support/fixtures/second-gateway.ts';
import { ROUTE_CASES, missingCases, restRequestOf } from '../../support/operations/cases.ts';
import { type WriteWorkspace, callerOf, startWriteWorkspace } from '../../support/operations/write-workspace.ts';
import { sampled } from '../../support/sample.ts';

/** `Idempotency-Key` on REST: each write runs once, and a repeated request gets the same bytes. */

let workspace: WriteWorkspace;
beforeAll(async () => {
  workspace = await startWriteWorkspace();
});
afterAll(() => workspace.stop());

test('every write has a case', () => {
  expect(missingCases()).toBe('');
});

const taking = ROUTE_CASES.filter(([, , route]) => takesIdempotencyKey(route));

sampled(test, 12).each(taking)(
  '%s runs once, and a repeated request gets the same bytes',
  async (name, write, route) => {
    const { gateway } = workspace;
    const to = await workspace.objectsFor(name, write);
    const { key } = callerOf(write, to);
    const request = { method: route.method, ...restRequestOf(route, to) };
    const send = () => sendKeyed(gateway, request, { key, idempotencyKey: name });
    const initial = await dumpTables(gateway);
    const first = visibleParts(await send());
    expect(first).toMatchObject({
      answer: { status: expect.toSatisfy((status: number) => status < 300) },
      replayed: undefined,
    });
    const before = await dumpTables(gateway);
    // Otherwise the repeated request would not show that it runs once.
    expect(before).not.toBe(initial);
    const second = visibleParts(await send());
    expect(second).toEqual({ answer: first.answer, replayed: 'true' });
    expect(await dumpTables(gateway)).toBe(before);
  },
);
