import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ImportedEvents } from '../../../src/domains/session-events/import.ts';
import { UsageError } from '../../../src/operator/command-arguments.ts';
import { runCommand } from '../../../src/operator/commands.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { checkout } from '../../support/processes/programs.ts';
import { append, createSession, eventsOf, moveTo, readAll } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();
let key: string;
let directory: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
  directory = await mkdtemp(join(tmpdir(), 'import-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** Runs `events import` in this process. Returns its result and the progress that it prints. */
async function importFile(sessionId: string, path: string): Promise<{ answer: ImportedEvents; shown: string }> {
  let shown = '';
  const progress = { write: (text: string) => (shown += text) };
  const answer = await runCommand(gateway.dependencies, { name: 'events import', sessionId, path }, { progress });
  return { answer: answer as ImportedEvents, shown };
}
const ndjson = (events: readonly object[]) => events.map((event) => `${JSON.stringify(event)}\n`).join('');
const indexes = async (id: string) => (await readAll(gateway, key, id, 1000)).map(({ eventData }) => eventData.index);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const pathOf = (name: string) => join(directory, name);

test('a file is imported in order; importing it again stores nothing twice; after it has grown, only the new lines are imported', async () => {
  const id = await createSession(gateway, key);
  const path = pathOf('run.ndjson');
  await writeFile(path, `${ndjson(eventsOf(1500))}\r\n\n`);
  expect(await importFile(id, path)).toEqual({
    answer: { imported: 1500, skipped: 0, lastId: 1500, redactedSecrets: 0 },
    shown: '100 %  1500 imported, 0 skipped\n',
  });
  expect(await importFile(id, path)).toMatchObject({
    answer: { imported: 0, skipped: 1500, lastId: 1500, redactedSecrets: 0 },
  });
  // The last line has no line break yet; the next addition ends it.
  await appendFile(path, ndjson(eventsOf(700, { from: 1501 })).trimEnd());
  expect(await importFile(id, path)).toMatchObject({
    answer: { imported: 700, skipped: 1500, lastId: 2200, redactedSecrets: 0 },
  });
  await appendFile(path, `\n${ndjson(eventsOf(1, { from: 2201 }))}`);
  expect(await importFile(id, path)).toMatchObject({
    answer: { imported: 1, skipped: 2200, lastId: 2201, redactedSecrets: 0 },
  });
  expect(await indexes(id)).toEqual(range(1, 2201));
  const other = await createSession(gateway, key);
  await append(gateway, key, other, eventsOf(1));
  expect(await importFile(other, path)).toMatchObject({
    answer: { imported: 2201, skipped: 0, lastId: 2202, redactedSecrets: 0 },
  });
});

test('lines that are twice in a file are imported twice; an empty file imports nothing', async () => {
  const id = await createSession(gateway, key);
  const thousand = ndjson(eventsOf(1000));
  await writeFile(pathOf('twice.ndjson'), thousand + thousand);
  expect(await importFile(id, pathOf('twice.ndjson'))).toMatchObject({
    answer: { imported: 2000, skipped: 0, lastId: 2000, redactedSecrets: 0 },
  });
  await writeFile(pathOf('empty.ndjson'), '');
  expect(await importFile(id, pathOf('empty.ndjson'))).toMatchObject({
    answer: { imported: 0, skipped: 0, lastId: 0, redactedSecrets: 0 },
  });
});

test('an invalid line is named, and nothing of its batch is stored; after it is corrected, the import continues', async () => {
  const id = await createSession(gateway, key);
  const path = pathOf('wrong.ndjson');
  const lines = eventsOf(1300).map((event) => JSON.stringify(event));
  const faults: [string | Buffer, string][] = [
    ['{', 'line 1200: is not JSON'],
    ['[]', 'line 1200: must be an object'],
    ['{"eventType":"a","provider":"p","eventData":{}}', 'line 1200: eventData.type: is required'],
    [
      '{"eventType":"a","provider":"p","eventData":{"type":"t","delivery":1}}',
      'line 1200: eventData.delivery: must be a string',
    ],
    ['{"eventType":"a","provider":"p","eventData":{"type":"t"},"id":1}', 'line 1200: id: is not a known property'],
    [Buffer.from([0x22, 0xff, 0x22]), 'line 1200: is not well-formed UTF-8'],
    ['"'.padEnd(8 * 1024 * 1024 + 70_000, 'x'), 'line 1200: must be at most 8388608 bytes'],
  ];
  for (const [fault, message] of faults) {
    await writeFile(
      path,
      Buffer.concat([
        Buffer.from(`${lines.slice(0, 1199).join('\n')}\n`),
        Buffer.from(fault),
        Buffer.from(`\n${lines.slice(1200).join('\n')}\n`),
      ]),
    );
    await expect(importFile(id, path)).rejects.toThrow(new UsageError(`${path}: ${message}`));
  }
  expect(await indexes(id)).toEqual(range(1, 1000));
  await writeFile(path, lines.join('\n'));
  expect(await importFile(id, path)).toMatchObject({
    answer: { imported: 300, skipped: 1000, lastId: 1300, redactedSecrets: 0 },
  });
  expect(await indexes(id)).toEqual(range(1, 1300));
});

test('the error for a missing session or file names it', async () => {
  await expect(importFile('7d444840-9dc0-11d1-b245-5ffdce74fad2', pathOf('run.ndjson'))).rejects.toThrow(
    new UsageError('--session: session not found'),
  );
  await expect(importFile(await createSession(gateway, key), '/nowhere/x')).rejects.toThrow(
    new UsageError('FILE: /nowhere/x is not a file'),
  );
});

test('importing into a finished session is refused', async () => {
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'CANCELLED');
  const path = pathOf('one.ndjson');
  await writeFile(path, ndjson(eventsOf(1)));
  await expect(importFile(id, path)).rejects.toThrow(
    new UsageError(`${path}: the session is finished; queue it again before recording events`),
  );
});

test('the example run is imported completely', async () => {
  const id = await createSession(gateway, key);
  const path = pathOf('example.ndjson');
  const output = await open(path, 'w');
  const child = spawn(process.execPath, [join(checkout, 'docs/examples/make-agent-run.ts'), '3000'], {
    stdio: ['ignore', output.fd, 'ignore'],
  });
  expect(await once(child, 'exit')).toEqual([0, null]);
  await output.close();
  expect(await importFile(id, path)).toMatchObject({
    answer: { imported: 3000, skipped: 0, lastId: 3000, redactedSecrets: 0 },
  });
  const lines = (await readFile(path, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  const stored = await readAll(gateway, key, id, 1000);
  expect(stored).toEqual(lines.map((line, index) => ({ ...line, id: index + 1, sessionId: id })));
});
