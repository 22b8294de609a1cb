import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PgBoss } from 'pg-boss';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../../src/core/config.ts';
import { assemble } from '../../src/gateway/assemble.ts';
import { prepareDatabase } from '../../src/gateway/prepare-database.ts';
import { createLog } from '../../src/gateway/telemetry/logging.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import { SUPERUSER_PASSWORD, query, superuserUrl } from '../support/processes/embedded-postgres.ts';
import { call, endProcesses, issueKey, startGateway, temporaryDirectory } from '../support/processes/process.ts';
import { checkout } from '../support/processes/programs.ts';

let server: EmbeddedPostgres;
beforeEach(async () => {
  const settings = { fsync: 'off' };
  const dataDir = await temporaryDirectory();
  server = await startEmbeddedPostgres({
    dataDir,
    log: () => undefined,
    settings,
    superuserPassword: SUPERUSER_PASSWORD,
  });
});
afterEach(async () => {
  await endProcesses();
  await server.stop();
});

/** The statements of docs/operations.md. */
async function documentedGrants(): Promise<string> {
  const page = await readFile(join(checkout, 'docs/operations.md'), 'utf8');
  const [, grants = ''] = /### Two roles\n[^]*?```sql\n([^]*?)```/.exec(page) ?? [];
  expect(grants).toContain('grant usage on schema public, pgboss');
  return grants.replaceAll('gateway_app', 'app');
}

/** The embedded role owns its database. */
const asApp = (url: string) => Object.assign(new URL(url), { username: 'app', password: 'app' }).href;

/** The first step of every start, and of `cli migrate`. */
async function prepare(env: Record<string, string>): Promise<void> {
  const assembly = await assemble(readConfig(env), createLog('silent'));
  try {
    await prepareDatabase(assembly.dependencies);
  } finally {
    await assembly.close();
  }
}

test('a role that owns nothing serves, and does all daily work of the jobs, after the owner has migrated', async () => {
  await query(superuserUrl(server.url), `create role app login password 'app'`);
  const owner = {
    DATABASE_URL: server.url,
    ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    LOG_LEVEL: 'warn',
  };
  const app = { ...owner, DATABASE_URL: asApp(server.url) };
  await expect(prepare(app)).rejects.toThrow(
    'DATABASE_URL: the role app cannot create tables in the database; run "cli migrate" as the owner, or make it the owner: alter database … owner to app',
  );
  await prepare(owner);
  await expect(prepare(app)).rejects.toThrow(
    'role of the database: permission denied for table mikro_orm_migrations; give it the rights that docs/operations.md lists under "Two roles", or name the owner',
  );
  await query(server.url, await documentedGrants());

  const gateway = await startGateway(app);
  const created = await call(gateway.url, await issueKey(app), 'POST', '/v1/sessions', { title: 'Served' });
  expect(created.status).toBe(201);
  await expect(query(app.DATABASE_URL, 'drop table session')).rejects.toThrow('must be owner of table session');
  const ran = `select distinct name from pgboss.job where state = 'completed' order by 1`;
  await expect.poll(() => query(server.url, ran)).toEqual(expect.arrayContaining([{ name: 'mcp-refresh' }]));

  // What a day brings: every queue is cleaned up, and every index is looked at.
  const boss = new PgBoss({ connectionString: app.DATABASE_URL, schedule: false, supervise: false });
  const errors: unknown[] = [];
  boss.on('error', (error) => errors.push(error));
  await boss.start();
  await query(server.url, 'update pgboss.queue set maintain_on = null, monitor_on = null');
  await boss.supervise(undefined, { reindex: { force: true } });
  await boss.stop({ graceful: false });
  expect(errors).toEqual([]);
  expect(await query(server.url, 'select name from pgboss.queue where maintain_on is null')).toEqual([]);
  expect(await gateway.end('SIGTERM')).toBe(0);
  expect(gateway.output.stdout.split('\n').filter((line) => line.startsWith('{'))).toEqual([]);
});
