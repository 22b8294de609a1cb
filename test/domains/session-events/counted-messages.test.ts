import { beforeAll, expect, test } from 'vitest';
import { deleteExpired, forgetMessagesOf } from '../../../src/domains/session-events/counted-messages.ts';
import { purgeSessions } from '../../../src/domains/session-events/purge.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';

/** The usage of a message counts once for an owner and an agent, also where a fork or a continued file repeats it. */

const gateway = useTestGateway();
let owner: { readonly key: string; readonly userId: string; readonly organization: string };
beforeAll(async () => {
  owner = await gateway.createKey();
});

const said = (id: string) => ({
  type: 'assistant',
  uuid: `${id}-${Math.random()}`,
  message: { id, role: 'assistant', model: 'x', content: [], usage: { input_tokens: 100, output_tokens: 10 } },
});
const costs = (input: number, cost: number) => ({
  type: 'cost-state',
  totalCostUSD: cost,
  modelUsage: { x: { inputTokens: input, outputTokens: input / 10, costUSD: cost } },
});

async function usageOf(id: string, key = owner.key) {
  return (await gateway.rest<Record<string, number | null>>('GET', `/v1/sessions/${id}/usage`, { key })).body;
}
async function record(lines: readonly object[], { key = owner.key, agent = 'claude' } = {}): Promise<string> {
  const id = await createSession(gateway, key, { agent });
  for (const line of lines)
    await gateway.rest('POST', `/v1/sessions/${id}/events`, {
      key,
      headers: { 'Content-Type': 'application/x-ndjson; format=claude-transcript' },
      body: JSON.stringify(line),
    });
  return id;
}

test('a fork counts what it adds, in tokens and costs; another agent and another account count their own', async () => {
  const first = await record([said('a'), said('b'), said('b'), costs(200, 0.02)]);
  expect(await usageOf(first)).toMatchObject({ inputTokens: 200, outputTokens: 20, costUsd: 0.02 });
  const fork = await record([said('a'), said('b'), said('c'), said('c'), costs(300, 0.03)]);
  const { inputTokens, outputTokens, costUsd } = await usageOf(fork);
  expect([inputTokens, outputTokens]).toEqual([100, 10]);
  expect(costUsd).toBeCloseTo(0.01, 10);
  expect(await usageOf(await record([said('a')], { agent: 'other' }))).toMatchObject({ inputTokens: 100 });
  const { key } = await gateway.createKey();
  expect(await usageOf(await record([said('a')], { key }), key)).toMatchObject({ inputTokens: 100 });
});

test('messages of a deleted session count there for 90 days, and those of a deleted account are forgotten', async () => {
  const { database, sql } = gateway.dependencies;
  const id = await record([said('gone')]);
  await gateway.rest('DELETE', `/v1/sessions/${id}`, { key: owner.key });
  await purgeSessions({ em: database.em.fork(), signal: new AbortController().signal }, { sessionIds: [id] });
  expect(await usageOf(await record([said('gone')]))).toMatchObject({ inputTokens: null });
  const later = new Date(Date.now() + 91 * 24 * 3_600_000);
  expect(await deleteExpired(database.em.fork(), new Date(), 10)).toBe(0);
  expect(await deleteExpired(database.em.fork(), later, 10)).toBe(1);
  expect(await usageOf(await record([said('gone')]))).toMatchObject({ inputTokens: 100 });
  for (let count = 1; count > 0;) count = await forgetMessagesOf(database.em.fork(), owner.userId, 2);
  expect(await sql.query('select message from counted_message where owner_id = $1', [owner.userId])).toEqual([]);
});
