import { beforeAll, expect, test } from 'vitest';
import { indexSessions } from '../../../src/domains/session-events/search-index.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, moveTo } from '../../support/fixtures/sessions.ts';

/** Counts of sessions by day, name and state: each is the length of the list with the same filter. */

const gateway = useTestGateway();
const at = (day: number) => gateway.setClock(new Date(Date.UTC(2026, 0, day, 12)));

let owner: Awaited<ReturnType<typeof gateway.createKey>>;
let member: typeof owner;
const spent = (model: string) => ({ eventType: 'usage', eventData: { type: 'usage', usage: { costUsd: 1, model } } });
const called = (toolName: string, status: string) => ({
  eventType: 'tool',
  eventData: { type: 'tool', toolName, toolResult: { status } },
});

beforeAll(async () => {
  owner = await gateway.createKey();
  member = await gateway.createKey({ organization: owner.organization, role: 'member' });
  at(1);
  const failing = await createSession(gateway, owner.key, { agent: 'coder', projectId: 'shop', visibility: 'PUBLIC' });
  const waiting = await createSession(gateway, owner.key, { agent: 'coder' });
  await append(gateway, owner.key, failing, [
    spent('large'),
    spent('small'),
    called('Bash', 'error'),
    called('Edit', 'completed'),
    called('Read', 'running'),
  ]);
  await append(gateway, owner.key, waiting, [spent('large'), called('Bash', 'completed')]);
  await moveTo(gateway, owner.key, failing, 'IN_PROGRESS');
  at(2);
  // A state counts on the day of the creation, because the list has the session there.
  await moveTo(gateway, owner.key, failing, 'FAILED');
  const done = await createSession(gateway, member.key, { agent: 'reviewer' });
  await moveTo(gateway, member.key, done, 'IN_PROGRESS', 'COMPLETED');
  const given = await createSession(gateway, member.key, { agent: null });
  await moveTo(gateway, member.key, given, 'CANCELLED');
  const running = await createSession(gateway, member.key, {});
  await moveTo(gateway, member.key, running, 'IN_PROGRESS');
  gateway.setClock(undefined);
  while ((await indexSessions(gateway.dependencies.database.em)) > 0);
});

type Count = Readonly<Record<string, number | string | null>>;

async function counts(key: string, args: string): Promise<readonly (readonly unknown[])[]> {
  const { data, errors } = await gateway.graphql<{ viewer: { organization: { sessionCounts: Count[] } } }>(
    key,
    `{ viewer { organization { sessionCounts(${args}) { key sessions queued inProgress completed failed cancelled } } } }`,
  );
  if (!data) throw new Error(JSON.stringify(errors));
  return data.viewer.organization.sessionCounts.map((row) => Object.values(row));
}

async function length(key: string, filter: string): Promise<number | undefined> {
  const { data } = await gateway.graphql<{ viewer: { organization: { sessions: { totalCount: number } } } }>(
    key,
    `{ viewer { organization { sessions(first: 1, filter: { ${filter} }) { totalCount } } } }`,
  );
  return data?.viewer.organization.sessions.totalCount;
}

test('sessions are counted by day of creation, name and present state, the largest first', async () => {
  expect(await counts(owner.key, 'groupBy: DAY')).toEqual([
    ['2026-01-02', 3, 0, 1, 1, 0, 1],
    ['2026-01-01', 2, 1, 0, 0, 1, 0],
  ]);
  expect(await counts(owner.key, 'groupBy: AGENT')).toEqual([
    ['coder', 2, 1, 0, 0, 1, 0],
    [null, 2, 0, 1, 0, 0, 1],
    ['reviewer', 1, 0, 0, 1, 0, 0],
  ]);
  expect(await counts(owner.key, 'groupBy: PROJECT')).toEqual([
    [null, 4, 1, 1, 1, 0, 1],
    ['shop', 1, 0, 0, 0, 1, 0],
  ]);
  expect(await counts(owner.key, 'groupBy: CREATOR')).toEqual([
    [member.userId, 3, 0, 1, 1, 0, 1],
    [owner.userId, 2, 1, 0, 0, 1, 0],
  ]);
  expect(await counts(owner.key, 'groupBy: MODEL')).toEqual([
    ['large', 2, 1, 0, 0, 1, 0],
    ['small', 1, 0, 0, 0, 1, 0],
  ]);
  expect(await counts(owner.key, 'groupBy: TOOL')).toEqual([
    ['Bash', 2, 1, 0, 0, 1, 0],
    ['Edit', 1, 0, 0, 0, 1, 0],
  ]);
});

test('each count is the length of the list with the same filter, for everybody who asks', async () => {
  const groups = { AGENT: 'agents', PROJECT: 'projectIds', CREATOR: 'creatorIds', MODEL: 'models', TOOL: 'tools' };
  const period = 'createdFrom: "2026-01-01T00:00:00Z", createdBefore: "2026-01-03T00:00:00Z"';
  for (const { key } of [owner, member])
    for (const [groupBy, name] of Object.entries(groups)) {
      const rows = await counts(key, `groupBy: ${groupBy}, filter: { ${period} }`);
      expect(rows.length).toBeGreaterThan(0);
      for (const [value, sessions, , , , failed] of rows) {
        if (value === null) continue;
        const filter = `${period}, ${name}: [${JSON.stringify(value)}]`;
        expect([value, await length(key, filter)]).toEqual([value, sessions]);
        expect([value, await length(key, `${filter}, states: [FAILED]`)]).toEqual([value, failed]);
      }
    }
  // The member reads the public session of the owner, and not the private one.
  expect(await counts(member.key, 'groupBy: DAY, filter: { createdBefore: "2026-01-02T00:00:00Z" }')).toEqual([
    ['2026-01-01', 1, 0, 0, 0, 1, 0],
  ]);
});

test('the list of sessions by tool, failed tool, model and last use', async () => {
  const lengths = async (...filters: string[]) => Promise.all(filters.map((filter) => length(owner.key, filter)));
  expect(
    await lengths(
      'tools: ["Bash"]',
      'failedTools: ["Bash"]',
      'failedTools: ["Edit"]',
      'tools: ["Read"]',
      'tools: ["Edit", "Read"]',
      'tools: []',
      'tools: ["bash"]',
      'models: ["large", "small"]',
      'models: ["small"], failedTools: ["Bash"]',
      'models: ["small"], agents: ["reviewer"]',
    ),
  ).toEqual([2, 1, 0, 0, 1, 0, 0, 2, 1, 0]);
  expect(await lengths('lastSeenFrom: "2026-01-02T12:00:00Z"', 'lastSeenBefore: "2026-01-02T12:00:00Z"')).toEqual([
    4, 1,
  ]);
});

test('names are added to those of earlier events, at most 200', async () => {
  const id = await createSession(gateway, owner.key, { agent: 'many' });
  const namesOf = async () => {
    const [row] = await gateway.dependencies.sql.query<{ tools: string[]; failed: string[]; models: string[] }>(
      'select tools, failed_tools as failed, models from session_search where session_id = $1',
      [id],
    );
    return row;
  };
  const record = async (...events: object[]) => {
    await append(gateway, owner.key, id, events);
    while ((await indexSessions(gateway.dependencies.database.em)) > 0);
    return namesOf();
  };
  expect(await record(called('b', 'error'), spent('m'))).toEqual({ tools: ['b'], failed: ['b'], models: ['m'] });
  expect(await record(called('b', 'completed'))).toEqual({ tools: ['b'], failed: ['b'], models: ['m'] });
  expect(await record(called('a', 'completed'), spent('l'))).toEqual({
    tools: ['a', 'b'],
    failed: ['b'],
    models: ['l', 'm'],
  });
  for (const part of ['x', 'y', 'z'])
    await record(...Array.from({ length: 90 }, (_, index) => called(`${part}${index}`, 'completed')));
  expect((await namesOf())?.tools.length).toBe(200);
});

test('who may not read sessions counts none', async () => {
  const { email, organization } = owner;
  const { key } = await gateway.createKey({ email, organization, scopes: ['sessions.record'] });
  const { data, errors } = await gateway.graphql<{ viewer: { organization: { sessionCounts: null } } }>(
    key,
    '{ viewer { organization { sessionCounts { key } } } }',
  );
  expect([data?.viewer.organization.sessionCounts, errors?.[0]?.extensions?.code]).toEqual([null, 'FORBIDDEN']);
});
