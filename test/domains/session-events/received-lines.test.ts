import { createHash, randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { linesOf } from '../../support/processes/recorder.ts';

/** What has arrived of transcripts is known by the gateway: a line that a session has already is not stored again. */

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

interface FileState {
  readonly name: string;
  readonly lines: number;
  readonly mark: string;
}
const put = (sourceId: string) =>
  gateway.rest<{ id: string; files: readonly FileState[] }>('PUT', `/v1/sessions/by-source/claude/${sourceId}`, {
    key,
    body: {},
  });
async function begin() {
  const sourceId = randomUUID();
  const { id, files } = (await put(sourceId)).body;
  await gateway.rest('POST', `/v1/sessions/${id}/transition`, { key, body: { state: 'inProgress' } });
  return { id, files, filesNow: async () => (await put(sourceId)).body.files };
}

interface Answer {
  readonly events: number;
  readonly repeatedLines: number;
  readonly error?: string;
  readonly details?: { readonly files: readonly FileState[] };
}
async function send(
  id: string,
  lines: readonly string[],
  place?: readonly [file: string, fromLine: number],
  parameters = '',
): Promise<{ readonly status: number; readonly body: Answer }> {
  const query = place ? `?file=${encodeURIComponent(place[0])}&fromLine=${place[1]}` : '';
  const response = await gateway.fetch(`/v1/sessions/${id}/events${query}`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': `application/x-ndjson; format=claude-transcript${parameters}`,
    },
    body: lines.map((line) => `${line}\n`).join(''),
  });
  return { status: response.status, body: (await response.json()) as Answer };
}
const recorded = (id: string) => linesOf(gateway, key, id);
const markOf = (line: string) => createHash('sha256').update(line).digest('hex');
const said = (name: string) => JSON.stringify({ type: 'user', uuid: name, message: { role: 'user', content: name } });
const all = ['a', 'b', 'c', 'd'].map(said);

test('a file that grows: its lines and mark are known, a gap is 409 with what was received, and nothing is stored twice', async () => {
  const { id, files, filesNow } = await begin();
  expect(files).toEqual([]);
  expect(await send(id, all.slice(0, 2), ['s.jsonl', 1])).toMatchObject({
    status: 201,
    body: { events: 2, repeatedLines: 0 },
  });
  const state = { name: 's.jsonl', lines: 2, mark: markOf(all[1] ?? '') };
  expect(await filesNow()).toEqual([state]);
  expect(await send(id, all.slice(3), ['s.jsonl', 4])).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining('line 3 is the next'), details: { files: [state] } },
  });
  expect(await send(id, all, ['s.jsonl', 1])).toMatchObject({ status: 201, body: { events: 2, repeatedLines: 2 } });
  expect(await send(id, all, ['s.jsonl', 1])).toMatchObject({ status: 200, body: { events: 0, repeatedLines: 4 } });
  expect(await send(id, all, ['copy/s.jsonl', 1])).toMatchObject({ body: { events: 0, repeatedLines: 4 } });
  expect(await recorded(id)).toEqual(all);
  expect(await filesNow()).toEqual([
    { name: 'copy/s.jsonl', lines: 4, mark: markOf(all[3] ?? '') },
    { name: 's.jsonl', lines: 4, mark: markOf(all[3] ?? '') },
  ]);
});

test('lines without an id: the k-th of the same bytes is known where k were received; blank ones count', async () => {
  const { id, filesNow } = await begin();
  const mode = '{"type":"permission-mode","permissionMode":"plan"}';
  await send(id, [mode, '', mode], ['s.jsonl', 1]);
  expect(await recorded(id)).toEqual([mode, mode]);
  expect(await send(id, [mode, '', mode, mode], ['s.jsonl', 1])).toMatchObject({
    body: { events: 1, repeatedLines: 2 },
  });
  expect(await send(id, [mode], ['s.jsonl', 5])).toMatchObject({ body: { events: 1, repeatedLines: 0 } });
  expect(await filesNow()).toEqual([{ name: 's.jsonl', lines: 5, mark: markOf(mode) }]);
});

test('a file that was rewritten adds what is new, and one that comes back nothing', async () => {
  const { id, filesNow } = await begin();
  await send(id, all, ['s.jsonl', 1]);
  const summary = '{"type":"summary","summary":"Compacted","leafUuid":"d"}';
  expect(await send(id, [summary, ...all.slice(2)], ['s.jsonl', 1])).toMatchObject({
    body: { events: 1, repeatedLines: 2 },
  });
  expect(await filesNow()).toEqual([{ name: 's.jsonl', lines: 3, mark: markOf(all[3] ?? '') }]);
  expect(await send(id, all, ['s.jsonl', 1])).toMatchObject({ body: { events: 0, repeatedLines: 4 } });
  expect(await filesNow()).toEqual([{ name: 's.jsonl', lines: 4, mark: markOf(all[3] ?? '') }]);
  expect(await recorded(id)).toEqual([...all, summary]);
});

test('a line with a credential is known as it was sent, and as it is stored', async () => {
  const { id } = await begin();
  const secret = `ghp_${'a1B2'.repeat(9)}`;
  const line = JSON.stringify({ type: 'progress', note: `the token is ${secret} and` });
  expect(await send(id, [line], ['s.jsonl', 1])).toMatchObject({ body: { events: 1, redactedSecrets: 1 } });
  expect(await send(id, [line], ['s.jsonl', 1])).toMatchObject({ body: { events: 0, repeatedLines: 1 } });
  const [kept = ''] = await recorded(id);
  expect(kept).not.toContain(secret);
  expect(await send(id, [kept], ['pulled.jsonl', 1])).toMatchObject({ body: { events: 0, repeatedLines: 1 } });
});

test('a recorder of 1.0 does not name the file: what the session has is not stored again, also what a gateway of 1.0 has stored', async () => {
  const { id } = await begin();
  await send(id, all.slice(0, 3), undefined, `; batchId="${'0'.repeat(40)}"`);
  await gateway.dependencies.sql.query('delete from transcript_line where session_id = $1', [id]);
  await gateway.dependencies.sql.query('update session_stream set lines_until = 0 where session_id = $1', [id]);
  expect(await send(id, all.slice(1), undefined, `; batchId="${'1'.repeat(40)}"`)).toMatchObject({
    status: 201,
    body: { events: 1, repeatedLines: 2 },
  });
  expect(await send(id, all, undefined, `; batchId="${'2'.repeat(40)}"`)).toMatchObject({
    status: 200,
    body: { events: 0, repeatedLines: 4 },
  });
  expect(await recorded(id)).toEqual(all);
});

test('of requests at once with the same lines each line is stored once', async () => {
  const { id } = await begin();
  const answers = await Promise.all(Array.from({ length: 6 }, () => send(id, all, ['s.jsonl', 1])));
  expect(answers.map(({ body }) => body.events).toSorted((a, b) => a - b)).toEqual([0, 0, 0, 0, 0, 4]);
  expect(await recorded(id)).toEqual(all);
});

test('refused: a name that leaves the folder, a file without a line, and a session that the caller cannot change', async () => {
  const { id } = await begin();
  for (const name of ['../s.jsonl', '/s.jsonl', 'a/../../s', 'a/..', String.raw`..\s`])
    expect(await send(id, all, [name, 1])).toMatchObject({ status: 400, body: { error: /^file: must be a path/ } });
  const response = await gateway.fetch(`/v1/sessions/${id}/events?file=a`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/x-ndjson; format=claude-transcript' },
    body: all[0] ?? '',
  });
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('fromLine')]);
  const other = await gateway.createKey();
  const mine = key;
  key = other.key;
  expect(await send(id, all, ['s.jsonl', 9])).toMatchObject({ status: 404 });
  key = mine;
});
