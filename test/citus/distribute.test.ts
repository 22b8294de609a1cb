import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openDatabase } from '../../src/core/postgres/connections.ts';
import { migrate } from '../../src/core/postgres/migrations.ts';
import { entities } from '../../src/gateway/modules.ts';
import { startTestGateway } from '../support/fixtures/gateway.ts';
import { recordSession } from '../support/fixtures/workspace.ts';
import { databaseUrl, onServers } from '../support/global-setup.ts';
import { DISTRIBUTE, UNDO, addNodes, rows, runFile } from '../support/processes/citus.ts';

/** deploy/citus.sql and the way back on a cluster, with rows in the tables. */

const name = `gateway_${randomBytes(6).toString('hex')}`;
const nodes = () => [inject('serverUrl'), ...inject('workerUrls')];
const url = databaseUrl(inject('serverUrl'), name);

beforeAll(async () => {
  await onServers(nodes(), `create database ${name}`);
  await addNodes(
    url,
    inject('workerUrls').map((worker) => databaseUrl(worker, name)),
  );
  const database = await openDatabase({ url, entities });
  await migrate(database);
  await database.close(true);
});
afterAll(() => onServers(nodes(), `drop database if exists ${name} with (force)`));

const TABLES = `select c.relname as name from pg_class c where c.relkind in ('r', 'p') and not c.relispartition
  and c.relnamespace = 'public'::regnamespace and c.relname <> 'before_citus' order by 1`;
const KEYS = `select c.conrelid::regclass::text as owner, c.conname as name, pg_get_constraintdef(c.oid) as definition from pg_constraint c
  where c.connamespace = 'public'::regnamespace order by 1, 2`;

async function countsOf(): Promise<Record<string, number>> {
  const tables = await rows<{ name: string }>(url, TABLES);
  const counts = tables.map(async (table) => {
    const [row] = await rows<{ count: number }>(url, `select count(*)::int as count from "${table.name}"`);
    return [table.name, row?.count ?? 0] as const;
  });
  return Object.fromEntries(await Promise.all(counts));
}

test('a filled database is distributed with all its rows, works, and comes back with the keys of the migrations', async () => {
  const gateway = await startTestGateway({ RUN_JOBS: 'false' }, { url });
  const { key } = await gateway.createKey();
  const create = (label: string) =>
    gateway.rest<{ number: number }>('POST', '/events/2026-03/event-definitions', {
      key,
      body: { label, primaryObject: 'CONTACT' },
    });
  const fill = async (label: string) => {
    await recordSession(gateway, key);
    expect((await create(label)).status).toBe(201);
    const sent = await gateway.rest('POST', '/events/2026-03/send', {
      key,
      body: { eventName: label.toLowerCase(), uuid: label, email: 'a@example.com' },
    });
    expect([sent.status, sent.text]).toEqual([204, '']);
  };
  await fill('First');
  const keys = await rows(url, KEYS);
  const before = await countsOf();
  expect(before).toMatchObject({ session: 1, event_definition: 1, event_occurrence: 1 });

  await runFile(url, DISTRIBUTE);
  expect(await countsOf()).toEqual(before);
  await fill('Second');
  const distributed = await countsOf();
  expect(distributed).toMatchObject({ session: 2, event_definition: 2, event_occurrence: 2 });

  await runFile(url, UNDO);
  expect(await countsOf()).toEqual(distributed);
  expect(await rows(url, KEYS)).toEqual(keys);
  await fill('Third');
  await gateway.close();
});
