import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { openDatabase } from '../../src/core/postgres/connections.ts';
import { migrate } from '../../src/core/postgres/migrations.ts';
import { startEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import { entities } from '../../src/gateway/modules.ts';
import { DISTRIBUTE, addNodes, citusUrl, runFile, workersOf } from './processes/citus.ts';
import { startPgBouncer } from './processes/pgbouncer.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A server on which tests may create databases. */
    serverUrl: string;
    /** A migrated, empty database; each test file works on a copy. */
    templateDatabase: string;
    /** The same server through a pooler; empty except in the project `pooled`. */
    poolerUrl: string;
    /** The URLs of the workers of Citus, on which each database exists too; empty except in the project `citus`. */
    workerUrls: readonly string[];
  }
}

/** The data need not survive a crash. With durable settings, tests spend a tenth of their time on copying databases. */
const SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_connections: '300',
  // Each test file drops its database at its end. An autovacuum worker would block that.
  autovacuum: 'off',
};

/**
 * One real PostgreSQL for the whole run: that of `TEST_DATABASE_URL`, or an embedded one that is deleted afterwards; in the project `citus`
 * the cluster of `CITUS_URL`.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-test-'));
  const isSharded = Boolean(project.config.env?.['CITUS']);
  const given = isSharded ? citusUrl() : process.env['TEST_DATABASE_URL'];
  const postgres = given
    ? undefined
    : await startEmbeddedPostgres({
        dataDir,
        log: () => undefined,
        settings: SETTINGS,
      });
  const serverUrl = given ?? postgres?.url ?? '';
  const templateDatabase = `gateway_template_${process.pid}`;
  const workerUrls = isSharded ? await workersOf(serverUrl) : [];
  const nodeUrls = [serverUrl, ...workerUrls];
  const [templateUrl = '', ...templatesOfWorkers] = nodeUrls.map((url) => databaseUrl(url, templateDatabase));
  await onServers(nodeUrls, `create database ${templateDatabase}`);
  if (isSharded) await addNodes(templateUrl, templatesOfWorkers);
  const database = await openDatabase({ url: templateUrl, entities });
  await migrate(database);
  await database.close(true);
  if (isSharded) {
    await runFile(templateUrl, DISTRIBUTE);
    // A database is copied only while nobody uses it, and Citus has a process in each.
    await onServers(nodeUrls, `alter database ${templateDatabase} allow_connections false`);
    await onServers(
      nodeUrls,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${templateDatabase}'`,
    );
  }
  const pooler = project.config.env?.['POOLER'] ? await startPgBouncer(serverUrl) : undefined;
  project.provide('poolerUrl', pooler?.through(serverUrl) ?? '');
  project.provide('serverUrl', serverUrl);
  project.provide('workerUrls', workerUrls);
  project.provide('templateDatabase', templateDatabase);
  return async () => {
    await pooler?.close();
    if (postgres) await postgres.stop();
    else for (const url of nodeUrls) await dropDatabases(url, templateDatabase);
    await rm(dataDir, { recursive: true, force: true });
  };
}

/** Drops the template and the databases that were copied from it. */
async function dropDatabases(serverUrl: string, template: string): Promise<void> {
  const client = new pg.Client(serverUrl);
  await client.connect();
  try {
    const { rows } = await client.query<{ datname: string }>(
      `select datname from pg_database where datname = $1 or starts_with(datname, $1 || '_')`,
      [template],
    );
    for (const { datname } of rows) await client.query(`drop database ${datname} with (force)`);
  } finally {
    await client.end();
  }
}

export function databaseUrl(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/** Copies the files of a database, which is four times as fast as copying through the write-ahead log. */
export async function copyDatabase(
  serverUrl: string,
  template: string,
  name: string,
  workerUrls: readonly string[] = [],
): Promise<void> {
  const serverUrls = [serverUrl, ...workerUrls];
  await onServers(serverUrls, `create database ${name} template ${template} strategy file_copy`);
  // A copy has no settings. deploy/citus.sql makes this one.
  if (workerUrls.length > 0)
    await onServer(serverUrl, `alter database ${name} set citus.all_modifications_commutative to on`);
}

export async function onServers(serverUrls: readonly string[], statement: string): Promise<void> {
  await Promise.all(serverUrls.map((url) => onServer(url, statement)));
}

export async function onServer(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client(serverUrl);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
