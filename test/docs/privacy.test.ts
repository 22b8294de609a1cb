import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { codeBlocks } from '../support/documents.ts';
import { define, send, stored } from '../support/fixtures/event-occurrences.ts';
import { type ServedGateway, startServedGateway } from '../support/fixtures/served-gateway.ts';
import { append, createSession, eventsOf } from '../support/fixtures/sessions.ts';
import { runJobs } from '../support/processes/jobs.ts';
import { endProcesses, start, temporaryDirectory } from '../support/processes/process.ts';

/** Runs the commands of docs/privacy.md from top to bottom, and looks at what they leave. */

let gateway: ServedGateway;
beforeAll(async () => {
  gateway = await startServedGateway();
});
afterEach(endProcesses);

const SETTINGS =
  'GATEWAY=http://127.0.0.1:4000 KEY=wgk_… ORGANIZATION=… SESSION=… USER_ID=… EVENT=signup EMAIL=jo@example.com\n';
const TEXT = 'correct horse battery staple';

/** The blocks of commands; the first sets the variables. */
async function blocksOf(settings: string): Promise<readonly [string, ...string[]]> {
  const [first = '', ...others] = await codeBlocks('docs/privacy.md', 'sh');
  expect(first).toContain(SETTINGS);
  return [first.replace(SETTINGS, settings), ...others];
}

test('the commands take data out, keep it for a limited time, redact, delete and erase', async () => {
  const { key, organizationId, userId } = await gateway.createKey();
  const session = await createSession(gateway, key, { title: `The password is ${TEXT}` });
  await append(gateway, key, session, eventsOf(1, { data: { accumulatedText: TEXT } }));
  const event = await define(gateway, key, { primaryObject: 'CONTACT' });
  const occurrence = { eventName: event, email: 'jo@example.com', properties: {} };
  expect(await send(gateway, 'REST', key, [occurrence])).toBeUndefined();
  const cwd = await temporaryDirectory();
  const [first, ...blocks] = await blocksOf(
    `GATEWAY=${gateway.url} KEY=${key} ORGANIZATION=${organizationId} SESSION=${session} USER_ID=${userId} EVENT=${event} EMAIL=jo@example.com\n`,
  );
  const run = async (commands: readonly string[]) => {
    const { output, exited } = start(['sh', '-euc', [first, ...commands].join('\n')], {}, { cwd });
    expect([await exited, output.stderr]).toEqual([0, '']);
  };
  const read = (path: string) => gateway.rest<Record<string, unknown>>('GET', path, { key });
  const deletes = blocks.findIndex((block) => block.includes(`DELETE "$GATEWAY/v1/sessions/$SESSION"`));

  await run(blocks.slice(0, deletes));
  const fileOf = (name: string) => readFile(join(cwd, name), 'utf8');
  const lines = (await fileOf('organization.ndjson')).trim().split('\n');
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
    kind: 'end',
    counts: { session: 1, sessionEvent: 1, eventOccurrence: 1 },
  });
  expect(await fileOf('session.json')).toContain(TEXT);
  expect(await fileOf('occurrences.ndjson')).toContain(event);
  expect((await read(`/v1/organizations/${organizationId}/retention`)).body).toMatchObject({
    sessionDays: 90,
    occurrenceDays: 400,
    auditLogDays: 365,
  });
  expect((await read(`/v1/sessions/${session}`)).body).toMatchObject({ title: 'The password is [redacted]' });
  expect((await read(`/v1/sessions/${session}/events`)).text).not.toContain(TEXT);

  const leaves = blocks.findIndex((block) => block.includes('/v1/users/'));
  await run(blocks.slice(deletes, leaves));
  expect((await read(`/v1/sessions/${session}`)).status).toBe(404);
  await runJobs(gateway);
  expect(await rowsIn('session_event')).toBe(0);
  expect(await stored(gateway, key, event)).toEqual([]);

  await run(blocks.slice(leaves));
  await runJobs(gateway);
  expect([await rowsIn('user_account'), await rowsIn('organization')]).toEqual([0, 0]);
});

async function rowsIn(table: string): Promise<number> {
  return (await gateway.dependencies.sql.query(`select 1 from ${table}`, [])).length;
}
