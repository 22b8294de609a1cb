import { execFileSync } from 'node:child_process';
import {
  chownSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import { startJobs } from '../../src/gateway/background-jobs.ts';
import { prepareDatabase } from '../../src/gateway/prepare-database.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { createSession, tail } from '../support/fixtures/sessions.ts';

/** The files that the database URL names: certificates are replaced while the gateway runs, and are away for a moment. */

const folder = mkdtempSync(join(tmpdir(), 'database-files-'));
const file = (name: string) => join(folder, name);
const FILES = ['ca.pem', 'client.pem', 'client.key'] as const;
let postgres: EmbeddedPostgres;
let url: string;
let gateway: TestGateway;
let key: string;

/** A certificate that signs itself, so that it is the file of its authority, too. */
function createCertificate(name: string): void {
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const output = ['-keyout', file(`${name}.key`), '-out', file(`${name}.pem`)];
  execFileSync('openssl', ['req', ...kind, ...subject, ...output], { stdio: 'pipe' });
}

/** Makes the server use a certificate for new connections. */
async function use(name: string): Promise<void> {
  // Their owner stays.
  for (const kind of ['pem', 'key']) writeFileSync(file(`server.${kind}`), readFileSync(file(`${name}.${kind}`)));
  process.kill(postgres.pid, 'SIGHUP');
  const address = new URL(postgres.url);
  address.search = `sslmode=verify-full&sslrootcert=${file(`${name}.pem`)}`;
  const connected = async () => {
    const client = new pg.Client(address.href);
    client.on('error', () => undefined);
    return client.connect().then(
      () => client.end(),
      () => 'refused',
    );
  };
  await expect.poll(connected).toBeUndefined();
}

/** Ends the connections of the gateway, so that everything that uses one has to connect again. */
async function endConnections(): Promise<void> {
  const client = new pg.Client(postgres.url);
  await client.connect();
  await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where usename = current_user and pid <> pg_backend_pid()',
  );
  await client.end();
}

const read = async () => (await gateway.rest('GET', '/events/2026-03/event-definitions', { key })).status;

beforeAll(async () => {
  for (const name of ['one', 'other', 'client']) createCertificate(name);
  for (const name of ['server.pem', 'server.key']) {
    copyFileSync(file(name.replace('server', 'one')), file(name));
  }
  const settings = { fsync: 'off', ssl: 'on', ssl_cert_file: file('server.pem'), ssl_key_file: file('server.key') };
  const dataDir = file('data');
  // Creates the data, whose owner may then read the files.
  await (await startEmbeddedPostgres({ dataDir, log: () => undefined, settings: { fsync: 'off' } })).stop();
  const { uid, gid } = statSync(join(dataDir, 'postgres/data'));
  for (const name of ['', 'server.pem', 'server.key']) chownSync(file(name), uid, gid);
  postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined, settings });
  const address = new URL(postgres.url);
  address.search = `sslmode=verify-full&sslrootcert=${file('ca.pem')}&sslcert=${file('client.pem')}&sslkey=${file('client.key')}`;
  url = address.href;
});
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true });
});

beforeEach(async () => {
  await use('one');
  copyFileSync(file('one.pem'), file('ca.pem'));
  gateway = await startTestGateway({ DATABASE_REPLICA_URLS: url }, { url });
  await prepareDatabase(gateway.dependencies);
  ({ key } = await gateway.createKey());
});
afterEach(() => gateway.close());

test('while the files of the database URL are away, everything connects again with what was read before', async () => {
  const worker = await startJobs(gateway.dependencies);
  const live = await tail(gateway, key, await createSession(gateway, key));
  for (const name of FILES) renameSync(file(name), file(`${name}.away`));
  for (let times = 0; times < 3; times += 1) {
    await endConnections();
    await expect.poll(read).toBe(200);
    await expect.poll(async () => (await gateway.fetch('/health/ready')).status).toBe(200);
  }
  for (const name of FILES) renameSync(file(`${name}.away`), file(name));
  await live.close();
  await worker.stop();
});

test('a replaced authority is used after the first failed handshake, and until its file is complete, requests get 503', async () => {
  const worker = await startJobs(gateway.dependencies);
  expect(await read()).toBe(200);
  await use('other');
  writeFileSync(file('ca.pem'), '-----BEGIN CERTIFICATE-----\n');
  await endConnections();
  await expect.poll(read).toBe(503);
  expect((await gateway.fetch('/health/live')).status).toBe(200);
  copyFileSync(file('other.pem'), file('ca.pem'));
  await expect.poll(read).toBe(200);
  await worker.stop();
});
