import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DatabaseClient } from '../../src/core/postgres/driver/client.ts';
import { databaseTrouble } from '../../src/core/postgres/failures.ts';
import { POSITION, type Replicas, createReplicas } from '../../src/core/postgres/health/replicas.ts';
import { runOn } from '../../src/core/postgres/reading/sql.ts';
import { query, superuserUrl } from '../support/processes/embedded-postgres.ts';
import { type PrimaryWithStandby, startPrimaryWithStandby } from '../support/processes/standby.ts';

/** A standby that serves reads without a primary and is promoted while a statement runs. */

let servers: PrimaryWithStandby;
let primary: pg.Pool;
let replicas: Replicas;

beforeAll(async () => {
  servers = await startPrimaryWithStandby();
  primary = new pg.Pool({ connectionString: servers.primaryUrl, Client: DatabaseClient });
  primary.on('error', () => undefined);
  const log = { info: () => undefined };
  replicas = createReplicas({ urls: [servers.standbyUrl], primary: runOn(primary), poolOptions: {}, log });
});
afterAll(async () => {
  await replicas.close();
  await primary.end();
  await servers.close();
});

test('a statement that runs on a standby during its promotion fails as unavailable', async () => {
  const lookup = (rest: string) => replicas.lookup({ text: `select ${POSITION} as position${rest}`, values: [] });
  await lookup('');
  await expect.poll(() => replicas.states().some(({ isUsable }) => isUsable)).toBe(true);
  await servers.stopPrimary();
  // It serves reads when it has replayed all that it received.
  await expect.poll(() => replicas.canServeReads()).toBe(true);
  expect(await lookup('')).toEqual([{ position: null }]);

  const failure = lookup(', pg_sleep(600)').catch((error: unknown) => error);
  const asleep = `select count(*)::int as count from pg_stat_activity where wait_event = 'PgSleep'`;
  await expect.poll(() => query(superuserUrl(servers.standbyUrl), asleep)).toEqual([{ count: 1 }]);
  await servers.onStandby('select pg_promote()');
  expect(databaseTrouble(await failure)).toBe('away');
  await servers.onStandby(`select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'`);
});
