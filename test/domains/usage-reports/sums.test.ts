import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { FORMAT_NAMES } from '../../../src/domains/session-events/formats/names.ts';
import { AGENT_LINES, ODD_LINES } from '../../support/fixtures/agent-lines.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, moveTo } from '../../support/fixtures/sessions.ts';

/** The sums of usage are written with what they count, so that they equal the totals of the sessions. */

const gateway = useTestGateway();
let key: string;
let organizationId: string;
beforeAll(async () => {
  const owner = await gateway.createKey();
  ({ key } = owner);
  organizationId = owner.organizationId;
});

const AMOUNTS =
  'input_tokens, output_tokens, cached_input_tokens, cache_write_tokens, cost_usd, turns, tool_calls, tool_errors, duration_ms';
const summed = AMOUNTS.split(', ')
  .map((amount) => `round(sum(${amount})::numeric, 9)::text as ${amount}`)
  .join(', ');
const query = (text: string) => gateway.dependencies.sql.query<Record<string, string | null>>(text, [organizationId]);

/** By agent. Each format has one of its own. */
const ofSessions = () =>
  query(`select agent, ${summed} from session_stream h join session s on s.id = h.session_id
    where s.organization_id = $1 and h.organization_id = $1 group by agent order by agent`);
const ofSums = () =>
  query(`select agent, ${summed} from usage_sum where organization_id = $1 group by agent order by agent`);

const send = (sessionId: string, format: string, lines: readonly string[], headers: Record<string, string> = {}) =>
  gateway.rest('POST', `/v1/sessions/${sessionId}/events`, {
    key,
    body: lines.join('\n'),
    headers: { 'Content-Type': `application/x-ndjson; format=${format}`, ...headers },
  });

test('the sums equal those of the sessions, for all formats, in parts, with repeated lines and retries', async () => {
  for (const format of FORMAT_NAMES) {
    const lines = [...AGENT_LINES[format], ...ODD_LINES];
    const whole = await createSession(gateway, key, { agent: format });
    await send(whole, format, lines);
    const inParts = await createSession(gateway, key, { agent: format });
    for (let at = 0; at < lines.length; at += 7) {
      const part = lines.slice(at, at + 7);
      // A retry stores nothing, and neither do lines that only repeat the usage of a message.
      for (let retry = 0; retry < 2; retry += 1)
        await send(inParts, `${format}; batchId=${at}`, [...part, ...part.slice(-1)]);
    }
  }
  const sessions = await ofSessions();
  expect(await ofSums()).toEqual(sessions);
  expect(sessions.filter(({ input_tokens: tokens }) => tokens !== null).length).toBeGreaterThan(5);
});

test('the sums of an append are by model and tool, and those of deleted sessions stay', async () => {
  const id = await createSession(gateway, key, { agent: 'named' });
  const event = (eventData: object) => ({ eventType: 'step', eventData: { type: 'step', ...eventData } });
  await append(gateway, key, id, [
    event({ usage: { inputTokens: 10, costUsd: 3, model: 'large', costByModel: { small: 1 } } }),
    event({ usage: { inputTokens: 5, model: 'small' } }),
    event({ toolName: 'Bash', toolResult: { status: 'running' } }),
    event({ toolName: 'Bash', toolResult: { status: 'error' } }),
    event({ toolName: 'Bash', toolResult: { status: 'completed' } }),
    event({ toolResult: { status: 'completed' } }),
  ]);
  const sums = () =>
    query(`select model, tool, sum(sessions)::int as sessions, sum(failed_sessions)::int as failures, sum(input_tokens)::int as tokens,
        sum(cost_usd) as cost, sum(tool_calls)::int as calls, sum(tool_errors)::int as errors
      from usage_sum where organization_id = $1 and agent = 'named' group by model, tool order by model, tool`);
  await moveTo(gateway, key, id, 'IN_PROGRESS', 'FAILED');
  const none = {
    model: null,
    tool: null,
    sessions: null,
    failures: null,
    tokens: null,
    cost: null,
    calls: null,
    errors: null,
  };
  const expected = [
    { ...none, model: 'large', tokens: 10, cost: 2 },
    { ...none, model: 'small', tokens: 5, cost: 1 },
    { ...none, tool: 'Bash', calls: 2, errors: 1 },
    { ...none, sessions: 1, failures: 1, calls: 1, errors: 0 },
  ];
  expect(await sums()).toEqual(expected);
  await gateway.rest('DELETE', `/v1/sessions/${id}`, { key });
  expect(await sums()).toEqual(expected);
});

test('one append adds to a bounded number of sums', async () => {
  const id = await createSession(gateway, key, { agent: 'many tools' });
  const events = Array.from({ length: 500 }, () => ({
    eventType: 'tool',
    eventData: { type: 'tool', toolName: `tool ${randomUUID()}`, toolResult: { status: 'completed' } },
  }));
  await append(gateway, key, id, events);
  const [row] = await query(
    `select count(*)::int as rows, sum(tool_calls)::int as calls from usage_sum where organization_id = $1 and agent = 'many tools'`,
  );
  expect(row).toEqual({ rows: 102, calls: 500 });
});
