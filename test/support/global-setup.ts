import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { openDatabase } from '../../src/core/postgres/connections.ts';
import { migrate } from '../../src/core/postgres/migrations.ts';
import { startEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import { entities } from '../../src/gateway/entities.ts';
import { startPgBouncer } from './processes/pgbouncer.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A server on which tests may create databases. */
    serverUrl: string;
    /** A migrated, empty database; each test file works on a copy. */
    templateDatabase: string;
    /** The same server through a pooler; empty except in the project `pooled`. */
    poolerUrl: string;
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

/** One real PostgreSQL for the whole run: that of `TEST_DATABASE_URL`, or an embedded one that is deleted afterwards. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-test-'));
  const given = process.env['TEST_DATABASE_URL'];
  const postgres = given
    ? undefined
    : await startEmbeddedPostgres({
        dataDir,
        log: () => undefined,
        settings: SETTINGS,
      });
  const serverUrl = given ?? postgres?.url ?? '';
  const templateDatabase = `gateway_template_${process.pid}`;
  await onServer(serverUrl, `create database ${templateDatabase}`);
  const database = await openDatabase({ url: databaseUrl(serverUrl, templateDatabase), entities });
  await migrate(database);
  await database.close(true);
  const pooler = project.config.env?.['POOLER'] ? await startPgBouncer(serverUrl) : undefined;
  project.provide('poolerUrl', pooler?.through(serverUrl) ?? '');
  project.provide('serverUrl', serverUrl);
  project.provide('templateDatabase', templateDatabase);
  return async () => {
    await pooler?.close();
    await onServer(serverUrl, `drop database if exists ${templateDatabase} with (force)`);
    await postgres?.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}

export function databaseUrl(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/** Copies the files of a database, which is four times as fast as copying through the write-ahead log. */
export function copyDatabase(serverUrl: string, template: string, name: string): Promise<void> {
  return onServer(serverUrl, `create database ${name} template ${template} strategy file_copy`);
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
