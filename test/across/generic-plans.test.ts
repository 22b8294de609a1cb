import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { onStatement } from '../../src/core/postgres/driver/statement-channels.ts';
import { COPIES, fillTables } from '../support/fixtures/large-tables.ts';
import { readGraphQLLists, readRestLists } from '../support/fixtures/list-requests.ts';
import { type ListedWorkspace, startListedWorkspace } from '../support/fixtures/listed-workspace.ts';
import { deliver } from '../support/fixtures/webhooks.ts';
import { sampleOf } from '../support/sample.ts';
import { type Measured, type RecordedStatement, measurePlan } from '../support/statement-plans.ts';

/**
 * From its sixth execution on, PostgreSQL can run a prepared statement with one plan for all values. The statements of all lists are run with
 * that plan and with the one for their values, on large tables: it reads hardly more rows. Lists and conditions are found in the schema and
 * in `openapi.json`, so new ones are tested without a change here.
 */

/** As many rows as the longest pages of most lists ten times. A plan that reads a table reads {@link COPIES}. */
const FEW_ROWS = 1_000;
/** Tables that have few rows in any gateway, or whose rows are found by their keys only. */
const SMALL_TABLES: ReadonlySet<string> = new Set([
  'audit_origin',
  'audit_stream',
  'broadcast_channel',
  'erased_actor',
  'feed_stream',
  'pg_authid',
  'pg_database',
]);

let workspace: ListedWorkspace;
let client: pg.Client;
let unmet: readonly string[];
const statements = new Map<string, RecordedStatement>();
beforeAll(async () => {
  workspace = await startListedWorkspace();
  const { gateway, key, headers, organizationId } = workspace;
  await createBroadcast();
  // The first reader numbers the entries.
  await gateway.rest('GET', '/v1/feed', { key, headers });
  client = new pg.Client(gateway.databaseUrl);
  await client.connect();
  await fillTables(client, organizationId);
  const sent: RecordedStatement[] = [];
  const { database } = gateway.dependencies;
  onStatement(await database.driver.getConnection().getNativeClient(), ({ text, values }) =>
    sent.push({ text, values }),
  );
  const keep = (isFound: boolean) => {
    for (const statement of isFound ? sent.filter(isRead) : [])
      statements.set(JSON.stringify([statement.text, statement.values]), statement);
    sent.length = 0;
  };
  unmet = [...(await readGraphQLLists(workspace, keep)), ...(await readRestLists(workspace, keep))];
  await deliver(gateway);
  keep(true);
});
afterAll(async () => {
  await client.end();
  await workspace.gateway.close();
});

const isRead = ({ text }: RecordedStatement) =>
  /^\s*(?:select|with)\b/i.test(text) && !/\b(?:insert into|update|delete from)\b/i.test(text);

async function createBroadcast(): Promise<void> {
  const { gateway, key, headers } = workspace;
  const path = '/broadcast/v1';
  const channels = await gateway.rest<{ channelGuid: string }[]>('GET', `${path}/channels/setting/publish/current`, {
    key,
    headers,
  });
  const body = { channelGuid: channels.body[0]?.channelGuid, content: { body: 'Hello' } };
  const { text, status } = await gateway.rest('POST', `${path}/broadcasts`, { key, headers, body });
  expect([text, status]).toEqual([text, 201]);
}

test('some rows meet each condition of each list', () => {
  expect(unmet.map((name) => `add a value of ${name} to MATCHING in test/support/fixtures/list-requests.ts`)).toEqual(
    [],
  );
});

test('the statement of each list reads hardly more rows with the plan for all values', async () => {
  const faults = new Map<string, string>();
  const tables = new Set<string>();
  for (const statement of sampleOf([...statements.values()], 80)) {
    const generic = await measurePlan(client, statement, 'force_generic_plan');
    for (const table of generic.tables) tables.add(table);
    if (generic.rows <= FEW_ROWS || faults.has(statement.text)) continue;
    const custom = await measurePlan(client, statement, 'force_custom_plan');
    // A join can look up a row for each one that it has found.
    if (generic.rows > 2 * custom.rows + 2 * FEW_ROWS) faults.set(statement.text, faultOf(statement, generic, custom));
  }
  expect([...faults.values()].join('\n\n')).toBe('');
  // The tables that were read are large.
  const small = [...tables].filter((table) => !SMALL_TABLES.has(table));
  expect(await missingIn(small)).toEqual([]);
});

function faultOf({ text, values }: RecordedStatement, generic: Measured, custom: Measured): string {
  return `${generic.rows} rows with the plan for all values, ${custom.rows} with the one for ${JSON.stringify(values)}: ${text}`;
}

/** What a contributor must add so that the tables are large. */
async function missingIn(tables: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select coalesce(i.inhparent, c.oid)::regclass::text as name from pg_class c left join pg_inherits i on i.inhrelid = c.oid
      where c.relname = any($1) group by 1 having sum(greatest(c.reltuples, 0)) < $2`,
    [tables, COPIES / 2],
  );
  return rows.map(({ name }) => `fill ${name} in test/support/fixtures/large-tables.ts`);
}
