import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useOwnGateway } from '../support/fixtures/gateway.ts';
import { createSession, eventsOf } from '../support/fixtures/sessions.ts';
import { cli, endProcesses } from '../support/processes/process.ts';

const gateway = useOwnGateway();
let key: string;
let directory: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
  directory = await mkdtemp(join(tmpdir(), 'import-'));
});
afterAll(async () => {
  await endProcesses();
  await rm(directory, { recursive: true, force: true });
});

test('memory does not grow with the file: a file of 64 MB is imported with a heap of 96 MB', async () => {
  const id = await createSession(gateway, key);
  const path = join(directory, 'large.ndjson');
  const file = await open(path, 'w');
  for (let from = 1; from <= 8000; from += 1000) {
    const events = eventsOf(1000, { from, data: { accumulatedText: 'x'.repeat(8000) } });
    await file.write(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  }
  await file.close();
  const { code, stdout, stderr } = await cli(['events', 'import', '--session', id, path], {
    DATABASE_URL: gateway.databaseUrl,
    ENCRYPTION_KEYS: `k:${Buffer.alloc(32, 1).toString('base64')}`,
    NODE_OPTIONS: '--max-old-space-size=96',
  });
  expect([code, stdout, stderr]).toEqual([
    0,
    '{"imported":8000,"skipped":0,"lastId":8000,"redactedSecrets":0}\n',
    expect.stringContaining('100 %'),
  ]);
});
