import { createGroup } from '../support/fixtures/groups.ts';
import { LEAVE, mutateOrganization } from '../support/fixtures/organizations.ts';
import { suspendMember } from '../support/fixtures/suspended-members.ts';
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/core/postgres/connections.ts';
import { VERSION } from '../../src/core/version.ts';
import { pruneSessionEvents } from '../../src/domains/session-events/public.ts';
import { createSignInLink } from '../../src/domains/identities/public.ts';
import { workContext } from '../../src/gateway/contexts.ts';
import { entities } from '../../src/gateway/modules.ts';
import { type ReleaseData, DATA_FILE, dumpTables, loadRelease } from '../support/fixtures/release-data.ts';
import { append, createSession, eventsOf } from '../support/fixtures/sessions.ts';
import { MUTATION_CASES, ROUTE_CASES, removes } from '../support/operations/cases.ts';
import { type WriteWorkspace, mutate, request, startWriteWorkspace } from '../support/operations/write-workspace.ts';
import { startOAuthFixture } from '../support/peers/mcp-authorization-server.ts';
import { emptyDatabase, endProcesses } from '../support/processes/process.ts';
import { RELEASES } from '../tools/released.ts';

afterEach(endProcesses);

/**
 * Tables that are empty between requests, hold what is kept for minutes, or are written by an operator; and those of sign-ins with a
 * provider and of OAuth clients, whose rows need a provider and a browser.
 */
const WITHOUT_ROWS = new Set([
  'deleted_session',
  'erased_actor',
  'finished_version',
  'mcp_token_revocation',
  'rate_limit',
  'running_export',
  'identity',
  'oauth_artifact',
  'oauth_grant',
]);

/** What no mutation leaves. */
async function leaveMore({ gateway, kept }: WriteWorkspace): Promise<void> {
  const { key } = kept.callers.admin;
  for (const [name, write, route] of ROUTE_CASES)
    if (name === 'publishOperationManifest') await request(gateway, [write, route], kept);
  const definition = { name: 'kept_twice', label: 'Kept', primaryObject: 'CONTACT' };
  const rest = (path: string, body: object, headers = {}) => gateway.rest('POST', path, { key, body, headers });
  await rest('/events/2026-03/event-definitions', definition, { 'Idempotency-Key': 'kept' });
  const uuid = randomUUID();
  await rest('/events/2026-03/send', { eventName: kept.eventNames[0], email: 'a@example.com', uuid });
  const session = await createSession(gateway, key);
  const said = eventsOf(1, { data: { source: 'user', accumulatedText: 'Kept' } });
  await append(gateway, key, session, said, 'pruned');
  const { database, now, newId, sql, notifier } = gateway.dependencies;
  await pruneSessionEvents({ em: database.em.fork(), now, newId, sql, notifier }, { sessionId: session });
  await append(gateway, key, session, said, 'kept');
  await gateway.rest('GET', `/v1/sessions/${session}/entries`, { key });
  const line = {
    type: 'assistant',
    message: { id: 'kept', role: 'assistant', content: [], usage: { input_tokens: 1 } },
  };
  const lines = { 'Content-Type': 'application/x-ndjson; format=claude-transcript' };
  const recorded = await gateway.rest<{ id: string }>('PUT', '/v1/sessions/by-source/claude/kept', { key, body: {} });
  await rest(`/v1/sessions/${recorded.body.id}/events?file=kept.jsonl&fromLine=1`, line, lines);
  const oauth = await startOAuthFixture();
  await rest('/v1/mcp-connections', { name: 'With OAuth', type: 'remote', serverUrl: oauth.serverUrl });
  await oauth.stop();
  await rest('/v1/api-keys', { name: 'Kept', scopes: ['social'] }, { 'User-Agent': 'Kept/1' });
  await gateway.rest('GET', '/v1/audit-log', { key });
  const { userId } = kept.callers.admin;
  await createGroup(gateway, key, { name: 'Kept with a member', memberIds: [userId] });
  const suspendedId = await suspendMember(gateway, kept.slug, 'suspended@example.com');
  await gateway.dependencies.sql.query(
    `insert into scim_user (organization_id, user_id, user_name, user_name_key, name, created_at, updated_at)
     select organization_id, user_id, 'Kept', 'kept', '{}', now(), now() from suspended_membership where user_id = $1`,
    [suspendedId],
  );
  const left = await gateway.createKey({ organization: kept.slug });
  await mutateOrganization(gateway, left.key, LEAVE, {});
  const weak = await gateway.createKey({ scopes: ['social'] });
  await gateway.rest('POST', '/v1/sessions', { key: weak.key, body: { title: 'Refused' } });
  const { email } = await gateway.createKey();
  await createSignInLink(workContext(gateway.dependencies), email);
}

/**
 * What a release leaves to those after it, from which test/faults/upgrade-from-releases.test.ts upgrades. At a release,
 * `RELEASE_DATA=write npx vitest run test/releases/data.test.ts` writes it.
 */
test('what every operation leaves can be dumped, and loaded into an empty database', async () => {
  const workspace = await startWriteWorkspace();
  const { gateway, kept } = workspace;
  await leaveMore(workspace);
  for (const [name, write] of MUTATION_CASES) if (!removes(name)) await mutate(gateway, [name, write], kept);
  const { database } = gateway.dependencies;
  const migrations = (await database.migrator.getExecuted()).map(({ name }) => name);
  const tables = await dumpTables(database);
  const data: ReleaseData = {
    version: VERSION,
    migrations,
    encryptionKeys: gateway.encryptionKeys,
    key: kept.callers.admin.key,
    tables,
  };
  await workspace.stop();

  const copy = await openDatabase({ url: (await emptyDatabase()).DATABASE_URL, entities });
  try {
    await loadRelease(copy, data);
    const loaded = await dumpTables(copy);
    const rowsOf = (all: ReleaseData['tables']) =>
      Object.fromEntries(
        Object.entries(all).map(([name, rows]) => [name, rows.map((row) => JSON.stringify(row)).toSorted()]),
      );
    expect(rowsOf(loaded)).toEqual(rowsOf(tables));
    const names = await copy.em.fork().execute<{ name: string }[]>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and not relispartition and relname <> 'mikro_orm_migrations' order by 1`,
    );
    // A new table needs a case that leaves a row in it.
    expect(names.map(({ name }) => name).filter((name) => !(name in tables) && !WITHOUT_ROWS.has(name))).toEqual([]);
  } finally {
    await copy.close(true);
  }
  if (process.env['RELEASE_DATA'] !== 'write') return;
  await mkdir(join(RELEASES, VERSION), { recursive: true });
  await writeFile(join(RELEASES, VERSION, DATA_FILE), gzipSync(JSON.stringify(data), { level: 9 }));
});
