import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { storeSecret } from '../../../src/core/secrets/secret-store.ts';
import { auditRows } from '../../support/fixtures/audit-log.ts';
import { type TestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';
import { acceptWithoutKey, invite } from '../../support/fixtures/invitations.ts';
import { runJobs } from '../../support/processes/jobs.ts';
import { PROJECT_ID, append, createSession, eventsOf, mutate } from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

/** Tests each row of the table in docs/privacy.md, and that the table and the tests have the same rows. */

const documentation = await readFile(new URL('../../../docs/privacy.md', import.meta.url), 'utf8');
const [, ofAccounts = ''] = documentation.split(/^### An (?:account|organization)$/m);
const documented = [...ofAccounts.matchAll(/^\| (?<record>[^|]+) \| (?<fate>[^|]+) \|$/gm)]
  .map(({ groups }) => `${groups?.['record']?.trim()}: ${groups?.['fate']?.trim()}`)
  // The first two rows are the head of the table and the separator.
  .slice(2);

type Issued = Awaited<ReturnType<TestGateway['createKey']>>;
const gateway = useOwnGateway();
let user: Issued;
let colleague: Issued;
let alone: Issued;
let jobId: string;
const ids: Record<
  | 'shared'
  | 'personal'
  | 'colleagues'
  | 'inEmptied'
  | 'begun'
  | 'publicSession'
  | 'privateSession'
  | 'sessionOfColleague'
  | 'sessionInEmptied'
  | 'invitedElsewhere'
  | 'invitedByUser'
  | 'invitedToEmptied',
  string
> = {
  shared: '',
  personal: '',
  colleagues: '',
  inEmptied: '',
  begun: '',
  publicSession: '',
  privateSession: '',
  sessionOfColleague: '',
  sessionInEmptied: '',
  invitedElsewhere: '',
  invitedByUser: '',
  invitedToEmptied: '',
};

const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);
const count = async (text: string, ...values: unknown[]) => (await rows(text, ...values)).length;

async function connect(key: string, name: string, visibility: 'shared' | 'personal'): Promise<string> {
  const body = { type: 'stdio', name, visibility, command: 'npx', env: { TOKEN: 'sssh' } };
  return (await gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', { key, body })).body
    .connection.id;
}

/** Inserts an authorization that the user has started: its row, and the secret of its code verifier. */
async function beginAuthorization(connectionId: string, organizationId: string): Promise<string> {
  const id = randomUUID();
  await rows(
    `insert into mcp_authorization (id, organization_id, connection_id, user_id, state_hash, issuer, redirect_uri, expires_at) values ($1, $2, $3, $4, $5, 'https://issuer.example', 'https://here.example', now() + interval '10 minutes')`,
    id,
    organizationId,
    connectionId,
    user.userId,
    Buffer.from(id),
  );
  const em = gateway.dependencies.database.em.fork();
  await em.transactional((transaction) =>
    storeSecret(
      transaction,
      gateway.dependencies.secrets,
      { table: 'mcp_authorization', id, organizationId },
      'code_verifier',
      'v',
    ),
  );
  return id;
}

async function recordSession(key: string, visibility: 'PUBLIC' | 'PRIVATE', events: number): Promise<string> {
  const project = { id: PROJECT_ID, name: 'Gateway', icon: 'CODE', color: 'BLUE' };
  const id = await createSession(gateway, key, { visibility, project });
  await append(gateway, key, id, eventsOf(events), `batch-${id}`);
  const { artifact } = await mutate<{ artifact: { databaseId: string } }>(
    gateway,
    key,
    'recordArtifact',
    { sessionId: id, type: 'PULL_REQUEST' },
    'artifact { databaseId }',
  );
  expect(artifact.databaseId).toBeTruthy();
  return id;
}

const rowCountsOf = async (sessionId: string) => ({
  events: await count('select 1 from session_event where session_id = $1', sessionId),
  batches: await count('select 1 from session_event_batch where session_id = $1', sessionId),
  streams: await count('select 1 from session_stream where session_id = $1', sessionId),
  artifacts: await count('select 1 from artifact where session_id = $1', sessionId),
});

beforeAll(async () => {
  colleague = await gateway.createKey();
  user = await gateway.createKey({ organization: colleague.organization });
  alone = await gateway.createKey({ email: user.email });
  await mutate(gateway, colleague.key, 'changeOrganizationMemberRole', { userId: user.userId, role: 'ADMIN' });
  await rows('update user_account set name = $2 where id = $1', user.userId, 'Ada Lovelace');
  await mutate(gateway, colleague.key, 'renameApiKey', { apiKeyId: user.keyId, name: 'laptop of Ada' });
  ids.personal = await connect(user.key, 'mine', 'personal');
  ids.shared = await connect(user.key, 'ours', 'shared');
  ids.colleagues = await connect(colleague.key, 'hers', 'personal');
  ids.inEmptied = await connect(alone.key, 'mine', 'shared');
  ids.begun = await beginAuthorization(ids.shared, user.organizationId);
  await beginAuthorization(ids.personal, user.organizationId);
  await beginAuthorization(ids.inEmptied, alone.organizationId);
  ids.publicSession = await recordSession(user.key, 'PUBLIC', 3);
  ids.privateSession = await recordSession(user.key, 'PRIVATE', 4);
  ids.sessionOfColleague = await recordSession(colleague.key, 'PRIVATE', 5);
  ids.sessionInEmptied = await recordSession(alone.key, 'PUBLIC', 6);
  ids.invitedElsewhere = (await invite(gateway, (await gateway.createKey()).key, user.email)).token;
  ids.invitedByUser = (await invite(gateway, user.key, 'guest@example.com')).token;
  ids.invitedToEmptied = (await invite(gateway, alone.key, 'guest@example.com')).token;
  for (const key of [user.key, alone.key]) {
    const body = { label: 'Order paid', propertyDefinitions: [{ label: 'Total', type: 'number' }] };
    await gateway.rest('POST', '/events/2026-03/event-definitions', { key, body });
  }
  await rows(`insert into event_occurrence (definition_id, occurred_at, id, organization_id, received_at, uuid, properties)
    select id, now(), gen_random_uuid(), organization_id, now(), gen_random_uuid(), '{}' from event_definition`);
  await rows(`insert into event_occurrence_uuid (definition_id, uuid, organization_id, expires_at)
    select definition_id, uuid, organization_id, now() + interval '1 year' from event_occurrence`);
  await rows(`insert into object_identifier (organization_id, object_type, property_name, value, object_id, created_at, updated_at)
    select id, 'ORDER', 'number', 'A1', '1', now(), now() from organization`);
  await rows(
    `insert into monthly_occurrence_count (organization_id, month, count) select id, '2026-03', 1 from organization`,
  );
  const answer = await gateway.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${user.userId}`, {
    key: user.key,
    body: { deletionQuestionnaire: { reasons: ['done here'] } },
  });
  jobId = answer.body.deletionJobId;
  await runJobs(gateway);
});

const CASES: Record<string, () => Promise<void>> = {
  'API keys of the user: revoked when the deletion begins, then deleted': async () => {
    for (const { key } of [user, alone])
      expect((await gateway.rest('DELETE', `/v1/users/${user.userId}`, { key })).status).toBe(401);
    expect(await count('select 1 from api_key where id = any($1)', [user.keyId, alone.keyId])).toBe(0);
    expect(await count('select 1 from api_key where id = $1 and revoked_at is null', colleague.keyId)).toBe(1);
  },
  'name and e-mail address: erased as soon as the keys are revoked; the address can be used for a new account':
    async () => {
      expect(await tablesThatContain(user.email)).toEqual([]);
      expect(await tablesThatContain('Ada Lovelace')).toEqual([]);
      expect((await gateway.createKey({ email: user.email })).userId).not.toBe(user.userId);
    },
  'user: deleted': async () => expect(await count('select 1 from user_account where id = $1', user.userId)).toBe(0),
  'memberships: deleted': async () => {
    expect(await count('select 1 from membership where user_id = $1', user.userId)).toBe(0);
    expect(await count('select 1 from membership where organization_id = $1', user.organizationId)).toBe(1);
  },
  "invitations to the user's address: deleted when the deletion begins": async () => {
    expect(ids.invitedElsewhere).toMatch(/^wgi_/);
    expect(await count('select 1 from invitation where email = $1', user.email)).toBe(0);
  },
  'invitations that the user has made: end when the deletion begins': async () => {
    expect((await acceptWithoutKey(gateway, { token: ids.invitedByUser })).status).toBe(404);
    expect((await acceptWithoutKey(gateway, { token: ids.invitedToEmptied })).status).toBe(404);
  },
  'private sessions of the user, with artifacts, pull requests and events: deleted': async () => {
    expect(await count('select 1 from session where id = $1', ids.privateSession)).toBe(0);
    expect(await rowCountsOf(ids.privateSession)).toEqual({ events: 0, batches: 0, streams: 0, artifacts: 0 });
    expect(await tablesThatContain(ids.privateSession)).toEqual(['audit_entry', 'feed_entry']);
  },
  'public and held sessions of the user, with artifacts, pull requests and events: stay, without creator; administrators see whose held ones were, until release':
    async () => {
      expect(await rows('select creator_id, visibility from session where id = $1', ids.publicSession)).toEqual([
        { creator_id: null, visibility: 'public' },
      ]);
      expect(await rowCountsOf(ids.publicSession)).toEqual({ events: 3, batches: 1, streams: 1, artifacts: 1 });
      const page = await gateway.rest<{ items: object[] }>('GET', `/v1/sessions/${ids.publicSession}/events`, {
        key: colleague.key,
      });
      expect([page.status, page.body.items.length]).toEqual([200, 3]);
    },
  "sums of the usage of the user's sessions: stay, without creator": async () => {
    const counts =
      'select creator_id, sum(sessions)::int as sessions from usage_sum where agent is null group by creator_id';
    expect(await rows(counts)).toContainEqual({ creator_id: null, sessions: 2 });
  },
  'personal MCP connections, with secrets and tokens: deleted': async () => {
    expect(await tablesThatContain(ids.personal)).toEqual(['audit_entry']);
    expect(await count('select 1 from mcp_connection where id = $1', ids.colleagues)).toBe(1);
    expect(await count('select 1 from secret where owner_id = $1', ids.colleagues)).toBe(1);
  },
  'shared MCP connections of the user, with secrets and tokens: stay, without owner': async () => {
    expect(await rows('select owner_id, name from mcp_connection where id = $1', ids.shared)).toEqual([
      { owner_id: null, name: 'ours' },
    ]);
    expect(await count('select 1 from secret where owner_id = $1', ids.shared)).toBe(1);
  },
  'authorizations that the user has begun and not finished, with their secrets: deleted': async () => {
    expect(await tablesThatContain(ids.begun)).toEqual([]);
    expect(await count(`select 1 from secret where owner_table = 'mcp_authorization'`)).toBe(0);
    expect(await count('select 1 from mcp_authorization')).toBe(0);
  },
  'organizations with other members, with projects, event definitions and all that others have: stay': async () => {
    expect(await rows('select slug from organization where id = $1', user.organizationId)).toEqual([
      { slug: colleague.organization },
    ]);
    expect(await count('select 1 from project where organization_id = $1', user.organizationId)).toBe(1);
    expect(
      await count(
        'select 1 from event_property p join event_definition d on d.id = p.definition_id where d.organization_id = $1 and d.deleted_at is null',
        user.organizationId,
      ),
    ).toBe(1);
    for (const table of [
      'event_occurrence',
      'event_occurrence_uuid',
      'object_identifier',
      'monthly_occurrence_count',
    ]) {
      expect([table, await count(`select 1 from ${table} where organization_id = $1`, user.organizationId)]).toEqual([
        table,
        1,
      ]);
    }
    expect(await rows('select creator_id from session where id = $1', ids.sessionOfColleague)).toEqual([
      { creator_id: colleague.userId },
    ]);
    expect(await rowCountsOf(ids.sessionOfColleague)).toEqual({ events: 5, batches: 1, streams: 1, artifacts: 1 });
  },
  'organizations without other members, with all that is in them: deleted; their slugs can be used again at once':
    async () => {
      for (const id of [alone.organizationId, ids.inEmptied, ids.sessionInEmptied]) {
        expect((await tablesThatContain(id)).filter((place) => place !== 'deletion_job')).toEqual([]);
      }
      const again = await gateway.rest('POST', '/v1/organizations', {
        key: colleague.key,
        body: { name: 'Again', slug: alone.organization },
      });
      expect(again.status).toBe(201);
    },
  'what the user has done, in the audit logs of organizations that stay: stays, without the user: it names an API key that is gone':
    async () => {
      const log = await auditRows(gateway);
      const mine = log.filter(({ keyId }) => keyId === user.keyId).map(({ operation }) => operation);
      expect(mine).toEqual(expect.arrayContaining(['createMcpConnection', 'createSession', 'deleteUser']));
      expect(await count('select 1 from api_key where id = $1', user.keyId)).toBe(0);
      const ofJob = { source: 'job', keyId: null, operation: 'deleteUser', targetType: 'User', targetId: null };
      expect(log.filter(({ source }) => source === 'job')).toMatchObject([
        { ...ofJob, organizationId: user.organizationId, requestId: jobId },
      ]);
    },
  'what was done to the user, in these logs: stays, without the user': async () => {
    const about = (await auditRows(gateway)).filter(({ operation }) => operation === 'changeOrganizationMemberRole');
    expect(about).toMatchObject([{ keyId: colleague.keyId, targetType: 'User', targetId: null }]);
  },
  'names of the user and their keys, and invitations to their address, in all logs: erased: the entries stay without names':
    async () => {
      for (const name of ['Ada Lovelace', 'laptop of Ada'])
        expect([name, await tablesThatContain(name)]).toEqual([name, []]);
      const named = ['inviteOrganizationMember', 'renameApiKey', 'changeOrganizationMemberRole'];
      const entries = await rows<{ operation: string; label: string | null }>(
        'select operation, target_label as label from audit_entry where operation = any($1) order by occurred_at',
        named,
      );
      expect(entries).toEqual([
        { operation: 'changeOrganizationMemberRole', label: null },
        { operation: 'renameApiKey', label: null },
        { operation: 'inviteOrganizationMember', label: null },
        { operation: 'inviteOrganizationMember', label: 'guest@example.com' },
      ]);
    },
  'record of the deletion: ids of job and user, questionnaire, times: stays, the questionnaire for 30 days':
    async () => {
      expect(await tablesThatContain(user.userId)).toEqual(['deletion_job']);
      expect(
        await rows(
          'select id, state, questionnaire, error, started_at is not null and finished_at >= started_at as is_timed from deletion_job where user_id = $1',
          user.userId,
        ),
      ).toEqual([{ id: jobId, state: 'done', questionnaire: { reasons: ['done here'] }, error: null, is_timed: true }]);
    },
};

/** The tables that contain a text in any column. This also finds tables that the deletion has forgotten. */
async function tablesThatContain(text: string): Promise<string[]> {
  const tables = await rows<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
  );
  const found = await Promise.all(
    tables.map(async ({ name }) =>
      (await count(`select 1 from "${name}" t where strpos(t::text, $1) > 0 limit 1`, text)) > 0 ? [name] : [],
    ),
  );
  return found.flat();
}

test('the table of docs/privacy.md and CASES have the same rows', () => {
  expect(documented).toEqual(Object.keys(CASES));
});

sampled(test, 6).each(Object.entries(CASES))('%s', async (_, check) => {
  expect.hasAssertions();
  await check();
});
