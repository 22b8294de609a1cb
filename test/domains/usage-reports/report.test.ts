import { beforeAll, expect, test } from 'vitest';
import { forgetSumCreator, mergeSlots } from '../../../src/domains/sessions/usage-sums.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, moveTo } from '../../support/fixtures/sessions.ts';

/** Reports on the sums of usage, on both APIs. */

const gateway = useTestGateway();
const DAY = 86_400_000;
const FROM = Date.UTC(2026, 0, 1);
const at = (day: number) => gateway.setClock(new Date(FROM + day * DAY + DAY / 2));

let owner: Awaited<ReturnType<typeof gateway.createKey>>;
let member: typeof owner;
const spent = (usage: object) => ({ eventType: 'usage', eventData: { type: 'usage', usage } });

beforeAll(async () => {
  owner = await gateway.createKey();
  member = await gateway.createKey({ organization: owner.organization, role: 'member' });
  at(0);
  const first = await createSession(gateway, owner.key, { agent: 'coder', projectId: 'shop' });
  await append(gateway, owner.key, first, [spent({ inputTokens: 100, costUsd: 2, model: 'large' })]);
  await moveTo(gateway, owner.key, first, 'IN_PROGRESS');
  at(1);
  await append(gateway, owner.key, first, [
    spent({ outputTokens: 7, costUsd: 0.5, model: 'small' }),
    { eventType: 'tool', eventData: { type: 'tool', toolName: 'Bash', toolResult: { status: 'error' } } },
  ]);
  await moveTo(gateway, owner.key, first, 'FAILED');
  const second = await createSession(gateway, member.key, { agent: '=cmd|" /C calc"!A0' });
  await append(gateway, member.key, second, [spent({ turns: 3 })]);
});

interface Row {
  readonly key: string | null;
  readonly label: string;
  readonly [amount: string]: string | number | null;
}
interface Report {
  readonly rows: readonly Row[];
  readonly totals: Readonly<Record<string, number | null>>;
}

const NOTHING = {
  sessions: 0,
  failedSessions: 0,
  turns: null,
  inputTokens: null,
  outputTokens: null,
  cachedInputTokens: null,
  costUsd: null,
  toolCalls: null,
  toolErrors: null,
  durationMs: null,
};
const UNCOUNTED = { ...NOTHING, sessions: null, failedSessions: null };
const FIRST = { ...NOTHING, sessions: 1, inputTokens: 100, costUsd: 2 };
const CODER = { ...FIRST, failedSessions: 1, outputTokens: 7, costUsd: 2.5, toolCalls: 1, toolErrors: 1 };

const rest = (key: string, parameters: string) =>
  gateway.rest<Report>('GET', `/v1/usage-report?from=2026-01-01&until=2026-01-03&${parameters}`, { key });

async function graphql(key: string, args: string): Promise<Report | undefined> {
  const amounts = Object.keys(NOTHING).join(' ');
  const { data } = await gateway.graphql<{ viewer: { organization: { usageReport: Report } } }>(
    key,
    `{ viewer { organization { usageReport(${args}) { rows { key label ${amounts} } totals { ${amounts} } } } } }`,
  );
  return data?.viewer.organization.usageReport;
}

const row = (key: string | null, amounts: object, label = key ?? 'none') => ({ key, label, ...amounts });

test('each way of grouping, largest first: null is what nobody reported, and both APIs answer the same', async () => {
  const other = '=cmd|" /C calc"!A0';
  const totals = { ...CODER, sessions: 2, turns: 3 };
  const ofMember = { ...NOTHING, sessions: 1, turns: 3 };
  const ofDay = { ...CODER, turns: 3, inputTokens: null, costUsd: 0.5 };
  const expected: Readonly<Record<string, readonly object[]>> = {
    DAY: [row('2026-01-01', FIRST), row('2026-01-02', ofDay)],
    AGENT: [row('coder', CODER), row(other, ofMember)],
    MODEL: [
      row('large', { ...UNCOUNTED, inputTokens: 100, costUsd: 2 }),
      row('small', { ...UNCOUNTED, outputTokens: 7, costUsd: 0.5 }),
      row(null, { ...UNCOUNTED, turns: 3, toolCalls: 1, toolErrors: 1 }),
    ],
    PROJECT: [row('shop', CODER), row(null, ofMember)],
    CREATOR: [row(owner.userId, CODER, owner.email), row(member.userId, ofMember, member.email)],
    TOOL: [
      row(null, { ...UNCOUNTED, turns: 3, inputTokens: 100, outputTokens: 7, costUsd: 2.5 }),
      row('Bash', { ...UNCOUNTED, toolCalls: 1, toolErrors: 1 }),
    ],
  };
  for (const [groupBy, rows] of Object.entries(expected)) {
    const { body } = await rest(owner.key, `groupBy=${groupBy}`);
    expect({ groupBy, ...body }).toEqual({ groupBy, rows, totals });
    expect(await graphql(owner.key, `from: "2026-01-01", until: "2026-01-03", groupBy: ${groupBy}`)).toEqual(body);
  }
});

test('members see what they have created, and filters of both APIs choose the same', async () => {
  const own = await rest(member.key, 'groupBy=CREATOR');
  expect(own.body.rows).toEqual([row(member.userId, { ...NOTHING, sessions: 1, turns: 3 }, member.email)]);
  for (const [parameters, filter, keys] of [
    ['agents=coder', 'agents: ["coder"]', ['coder']],
    ['models=small', 'models: ["small"]', ['coder']],
    ['projectIds=shop&agents=none', 'projectIds: ["shop"], agents: ["none"]', []],
    [`creatorIds=${member.userId}`, `creatorIds: ["${member.userId}"]`, ['=cmd|" /C calc"!A0']],
  ] as const) {
    const { body } = await rest(owner.key, `groupBy=AGENT&${parameters}`);
    expect(body.rows.map(({ key }) => key)).toEqual(keys);
    const args = `from: "2026-01-01", until: "2026-01-03", groupBy: AGENT, filter: { ${filter} }`;
    expect(await graphql(owner.key, args)).toEqual(body);
  }
});

test('CSV: one line a row, empty cells for null, nothing that a spreadsheet runs, and a byte order mark if it is asked for', async () => {
  const csv = (more = '', accept = 'text/csv') =>
    gateway.fetch(`/v1/usage-report?from=2026-01-01&until=2026-01-03&groupBy=AGENT${more}`, {
      headers: { Authorization: `Bearer ${owner.key}`, Accept: accept },
    });
  const answer = await csv();
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  const lines = [
    'key,label,sessions,failedSessions,inputTokens,outputTokens,cachedInputTokens,costUsd,turns,toolCalls,toolErrors,durationMs',
    'coder,coder,1,1,100,7,,2.5,,1,1,',
    `"'=cmd|"" /C calc""!A0","'=cmd|"" /C calc""!A0",1,0,,,,,3,,,`,
    '',
  ].join('\r\n');
  expect(await answer.text()).toBe(lines);
  expect(await (await csv('&format=csv', '*/*')).text()).toBe(lines);
  expect(Buffer.from(await (await csv('&bom=true')).arrayBuffer())).toEqual(Buffer.from(`\u{feff}${lines}`));
});

test('costs have no digits that only adding has left', async () => {
  at(0);
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key, { agent: 'coder' });
  await append(gateway, key, id, [spent({ costUsd: 0.1, model: 'large' }), spent({ costUsd: 0.2, model: 'small' })]);
  const byAgent = await rest(key, 'groupBy=AGENT');
  const byModel = await rest(key, 'groupBy=MODEL');
  expect(byAgent.body.rows.map(({ costUsd }) => costUsd)).toEqual([0.3]);
  expect([byAgent, byModel].map(({ body }) => body.totals['costUsd'])).toEqual([0.3, 0.3]);
});

test('400: days in the wrong order, too many days, and unknown parameters', async () => {
  const messages = await Promise.all(
    [
      'from=2026-01-02&until=2026-01-02',
      'from=2026-01-02&until=2027-01-04',
      'from=2026-01-32&until=2026-02-01',
      'from=2026-01-01&until=2026-01-02&groupBy=HOUR',
    ].map(async (parameters) => {
      const { status, body } = await gateway.rest<{ error: string }>('GET', `/v1/usage-report?${parameters}`, {
        key: owner.key,
      });
      return [status, body.error];
    }),
  );
  expect(messages).toEqual([
    [400, 'until: must be after from'],
    [400, 'until: must be at most 366 days after from'],
    [400, expect.stringContaining('from: ')],
    [400, expect.stringContaining('groupBy: ')],
  ]);
});

test('at most 1,000 rows: the last one is the sum of all smaller ones', async () => {
  const { key, organizationId } = await gateway.createKey();
  await gateway.dependencies.sql.query(
    `insert into usage_sum (organization_id, day, key, slot, agent, cost_usd)
     select $1, '2026-01-01', gen_random_uuid(), 0, 'agent ' || n, n from generate_series(1, 1200) n`,
    [organizationId],
  );
  const { body } = await rest(key, 'groupBy=AGENT');
  expect([body.rows.length, body.rows[0]?.key, body.rows[998]?.key]).toEqual([1000, 'agent 1200', 'agent 202']);
  expect(body.rows[999]).toEqual(row('other', { ...NOTHING, costUsd: (201 * 202) / 2 }));
  expect(body.totals['costUsd']).toBe((1200 * 1201) / 2);
});

test('the job adds up the slots of days that are over, and a report stays the same', async () => {
  const { key, organizationId } = await gateway.createKey();
  at(0);
  for (let count = 0; count < 20; count += 1) await createSession(gateway, key, { agent: 'coder' });
  const slots = async () => {
    const [counted] = await gateway.dependencies.sql.query<{ rows: number }>(
      'select count(*)::int as rows from usage_sum where organization_id = $1',
      [organizationId],
    );
    return counted?.rows;
  };
  const before = await rest(key, 'groupBy=AGENT');
  expect(await slots()).toBeGreaterThan(1);
  const merge = async (day: number) => {
    while ((await mergeSlots(workContext(gateway.dependencies).em, new Date(FROM + day * DAY), 7)) > 0);
  };
  await merge(0.9);
  expect(await slots()).toBeGreaterThan(1);
  await merge(1.5);
  expect(await slots()).toBe(1);
  expect((await rest(key, 'groupBy=AGENT')).body).toEqual(before.body);
});

test('the deletion of an account adds the sums of its user to those without creator', async () => {
  const { key, organization, organizationId } = await gateway.createKey();
  const people = [
    await gateway.createKey({ organization, role: 'member' }),
    await gateway.createKey({ organization, role: 'member' }),
  ];
  at(0);
  for (const person of people)
    for (const agent of ['a', 'b']) {
      const id = await createSession(gateway, person.key, { agent });
      await append(gateway, person.key, id, [spent({ costUsd: 1 })]);
    }
  for (const { userId } of people) {
    const { em } = workContext(gateway.dependencies);
    while ((await forgetSumCreator(em, userId, 3)) > 0);
  }
  const { body } = await rest(key, 'groupBy=CREATOR');
  expect(body.rows).toEqual([row(null, { ...NOTHING, sessions: 4, costUsd: 4 })]);
  const [left] = await gateway.dependencies.sql.query(
    `select count(*)::int as rows, count(creator_id)::int as named from usage_sum where organization_id = $1`,
    [organizationId],
  );
  expect(left).toEqual({ rows: 2, named: 0 });
});
