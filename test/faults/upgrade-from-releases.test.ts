import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/core/postgres/connections.ts';
import { entities } from '../../src/gateway/modules.ts';
import { type ReleaseData, DATA_FILE, dumpTables, loadRelease } from '../support/fixtures/release-data.ts';
import { startWriting } from '../support/oracles/ledger.ts';
import { query } from '../support/processes/embedded-postgres.ts';
import { cli, emptyDatabase, endProcesses, startGateway } from '../support/processes/process.ts';
import { checkout } from '../support/processes/programs.ts';
import { readReleased, releasesWith } from '../tools/released.ts';

afterEach(endProcesses);

/** Tables whose rows were moved to others. */
const REPLACED = new Set(['deleted_session']);

const READ = `{ viewer { role organization { slug members { totalCount } invitations { totalCount } mcpServers(orderBy: { field: NAME }) { nodes { name } }
  auditLog { totalCount } eventDefinitions(orderBy: { field: NAME }) { nodes { name occurrences { totalCount } } }
  sessions(orderBy: { field: CREATED_AT }) { nodes { title state { current } project { name } artifacts { totalCount }
    events(first: 100) { nodes { eventType } } } } } } }`;

test.for(releasesWith(DATA_FILE))(
  'the data of %s, of every kind, is migrated in one step, served, and can be changed',
  async (version) => {
    const data = readReleased(version, DATA_FILE) as ReleaseData;
    const env = {
      ...(await emptyDatabase()),
      ENCRYPTION_KEYS: data.encryptionKeys,
      RATE_LIMIT_PER_MINUTE: '0',
      RUN_JOBS: 'false',
    };
    const database = await openDatabase({ url: env.DATABASE_URL, entities });
    try {
      await loadRelease(database, data);
      const gateway = await startGateway(env);
      const counts = (tables: Readonly<Record<string, readonly object[]>>) =>
        Object.fromEntries(Object.entries(tables).map(([name, rows]) => [name, rows.length]));
      const kept = Object.fromEntries(Object.entries(counts(data.tables)).filter(([name]) => !REPLACED.has(name)));
      const now = counts(await dumpTables(database));
      expect(Object.fromEntries(Object.keys(kept).map((name) => [name, now[name]]))).toEqual(kept);
      const faults = await readFile(join(checkout, 'deploy/postgresql/check-consistency.sql'), 'utf8');
      expect(await query(env.DATABASE_URL, faults)).toEqual([]);

      const through = (path: string, init: RequestInit) => fetch(gateway.url + path, init);
      const headers = { Authorization: `Bearer ${data.key}`, 'Content-Type': 'application/json' };
      const read = await through('/graphql', { method: 'POST', headers, body: JSON.stringify({ query: READ }) });
      const answer = (await read.json()) as { data: unknown; errors?: unknown };
      expect(answer.errors ?? []).toEqual([]);
      expect(answer.data).toMatchSnapshot();
      // Decrypts every secret.
      const rotation = await cli(['secrets', 'rotate'], env);
      expect({ code: rotation.code, stderr: rotation.stderr }).toEqual({ code: 0, stderr: '' });

      const ledger = startWriting(through, data.key);
      await ledger.next(20);
      await ledger.stop();
      expect([...ledger.answers.keys()].filter((status) => !/^2\d\d$/.test(status))).toEqual([]);
      expect(await ledger.check()).toEqual({ lost: [], doubled: [] });
      expect(await gateway.end('SIGTERM')).toBe(0);
    } finally {
      await database.close(true);
    }
  },
);
