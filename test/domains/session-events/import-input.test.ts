import { PassThrough, Readable } from 'node:stream';
import { beforeAll, expect, test } from 'vitest';
import { UsageError } from '../../../src/operator/command-arguments.ts';
import { runCommand } from '../../../src/operator/commands.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession, eventsOf, readAll } from '../../support/fixtures/sessions.ts';

/** `events import -`: events from standard input, and an import that is interrupted (as a process: `test/process/import.test.ts`). */

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const ndjson = (from: number, to: number) =>
  eventsOf(to - from + 1, { from })
    .map((event) => `${JSON.stringify(event)}\n`)
    .join('');
const indexes = async (id: string) => (await readAll(gateway, key, id, 1000)).map(({ eventData }) => eventData.index);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

async function importInput(sessionId: string, input: Readable, signal?: AbortSignal) {
  let shown = '';
  const progress = { write: (part: string) => (shown += part) };
  const streams = { progress, input, ...(signal && { signal }) };
  const answer = await runCommand(gateway.dependencies, { name: 'events import', sessionId, path: '-' }, streams);
  return { answer, shown };
}

test('standard input is imported in order, whatever its chunks are; importing it again stores nothing twice', async () => {
  const id = await createSession(gateway, key);
  const all = Buffer.from(ndjson(1, 1200));
  const pieces = range(0, Math.ceil(all.length / 777) - 1).map((index) => all.subarray(index * 777, (index + 1) * 777));
  expect(await importInput(id, Readable.from(pieces))).toEqual({
    answer: { imported: 1200, skipped: 0, lastId: 1200, redactedSecrets: 0 },
    shown: '1200 imported, 0 skipped\n',
  });
  expect(await importInput(id, Readable.from([all]))).toMatchObject({ answer: { imported: 0, skipped: 1200 } });
  expect(await indexes(id)).toEqual(range(1, 1200));
});

test('an import that is interrupted while it waits for input prints how to continue, and the same input then continues there', async () => {
  const id = await createSession(gateway, key);
  const interruption = new AbortController();
  const input = new PassThrough();
  const running = importInput(id, input, interruption.signal);
  input.write(ndjson(1, 1500));
  await expect.poll(async () => (await readAll(gateway, key, id, 1000)).length).toBe(1000);
  interruption.abort();
  const hint = 'interrupted; run the same command with the same input again to continue after the stored events';
  await expect(running).rejects.toThrow(new UsageError(hint));
  expect(await importInput(id, Readable.from([Buffer.from(ndjson(1, 1600))]))).toMatchObject({
    answer: { imported: 600, skipped: 1000, lastId: 1600, redactedSecrets: 0 },
  });
  expect(await indexes(id)).toEqual(range(1, 1600));
});
