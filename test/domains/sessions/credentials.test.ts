import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { PROJECT_ID, createSession, mutate, pullRequestInput } from '../../support/fixtures/sessions.ts';

/** Credentials in what describes a session are replaced before it is stored, as in its events. */

const gateway = useTestGateway();
let open: TestGateway;
let key: string;
beforeAll(async () => {
  open = await startTestGateway({ RECORD_REDACTION: 'off' }, { beside: gateway });
  ({ key } = await gateway.createKey());
});
afterAll(() => open.close());

const SECRET = `wgk_${'a1B2'.repeat(9)}`;
const HIDDEN = 'run --header "Authorization: Bearer [redacted]"';
const TEXT = `run --header "Authorization: Bearer ${SECRET}"`;
const richContent = {
  type: 'doc',
  content: [
    {
      type: 'paragraph',
      content: [
        { type: 'text', text: 'KEY=wgk_' },
        { type: 'text', text: 'a1B2'.repeat(9) },
        { type: 'text', text: ` and ${TEXT}` },
      ],
    },
  ],
};

/** How many rows of the organization have the secret. */
async function rowsWithSecret(): Promise<number> {
  const tables = ['session', 'project', 'pull_request', 'session_search', 'audit_entry', 'feed_entry'];
  const counts = tables.map(
    (table) =>
      `(select count(*) from ${table} t where organization_id is not null and position($1::text in t::text) > 0)`,
  );
  const [row] = await gateway.dependencies.sql.query<{ rows: number }>(`select (${counts.join(' + ')})::int as rows`, [
    SECRET,
  ]);
  return row?.rows ?? -1;
}

const rest = async (id: string) =>
  (await gateway.rest<Record<string, unknown>>('GET', `/v1/sessions/${id}`, { key })).body;

test('a creation: title, description, names and the pull requests, over both APIs', async () => {
  const fields = {
    title: TEXT,
    description: TEXT,
    agent: TEXT,
    branchName: TEXT,
    agentOptions: { goal: { objective: TEXT } },
    project: { id: PROJECT_ID, name: TEXT },
    source: { name: TEXT, type: 'chat', repositories: [] },
  };
  const overRest = await gateway.rest<{ id: string }>('POST', '/v1/sessions', { key, body: fields });
  expect(overRest).toMatchObject({ status: 201 });
  for (const id of [overRest.body.id, await createSession(gateway, key, fields)]) {
    expect(await rest(id)).toMatchObject({
      title: HIDDEN,
      description: HIDDEN,
      agent: HIDDEN,
      branchName: HIDDEN,
      project: { name: HIDDEN },
      sessionSource: { name: HIDDEN },
    });
    const { artifact } = await mutate<{ artifact: { databaseId: string } }>(
      gateway,
      key,
      'recordArtifact',
      { sessionId: id, type: 'PLAN' },
      'artifact { databaseId }',
    );
    const input = pullRequestInput(artifact.databaseId);
    const diff = { additions: 1, deletions: 0, data: `+${TEXT}` };
    await mutate(gateway, key, 'recordPullRequest', { ...input, title: TEXT, diff });
    expect(await rest(id)).toMatchObject({
      artifacts: [{ pullRequests: [{ title: HIDDEN, diff: { data: `+${HIDDEN}` } }] }],
    });
    expect(await rowsWithSecret()).toBe(0);
  }
});

test('an update: title, description, and a document whose texts together are a credential', async () => {
  const id = await createSession(gateway, key);
  const patch = (body: object) => gateway.rest('PATCH', `/v1/sessions/${id}`, { key, body });
  await patch({ title: TEXT, description: TEXT, agent: TEXT });
  expect(await rest(id)).toMatchObject({ title: HIDDEN, description: HIDDEN, agent: HIDDEN });
  await mutate(gateway, key, 'updateSession', { sessionId: id, title: `2 ${TEXT}`, richContent });
  expect(await rest(id)).toMatchObject({ title: `2 ${HIDDEN}`, description: `KEY=[redacted] and ${HIDDEN}` });
  expect(await rowsWithSecret()).toBe(0);
  const created = await createSession(gateway, key, { richContent });
  expect(await rest(created)).toMatchObject({ description: `KEY=[redacted] and ${HIDDEN}` });
});

test('RECORD_REDACTION=off stores them as they are', async () => {
  const id = await createSession(open, key, { title: TEXT });
  expect(await rest(id)).toMatchObject({ title: TEXT });
  await open.rest('PATCH', `/v1/sessions/${id}`, { key, body: { description: TEXT } });
  expect(await rest(id)).toMatchObject({ title: TEXT, description: TEXT });
});
