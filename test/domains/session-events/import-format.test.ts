import { Readable } from 'node:stream';
import { beforeAll, expect, test } from 'vitest';
import { FORMAT_NAMES } from '../../../src/domains/session-events/formats/names.ts';
import { parseCommandLine } from '../../../src/operator/command-line.ts';
import { runCommand } from '../../../src/operator/commands.ts';
import { AGENT_LINES, ODD_LINES } from '../../support/fixtures/agent-lines.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession, readAll } from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

/** `events import --format`: lines of agents from a file or standard input. */

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

async function importLines(sessionId: string, format: string, lines: readonly string[]): Promise<object> {
  const command = parseCommandLine(['events', 'import', '--session', sessionId, '--format', format, '-']);
  if (command.name !== 'events import') throw new Error(command.name);
  const input = Readable.from([Buffer.from(lines.map((line) => `${line}\r\n`).join(''))]);
  return runCommand(gateway.dependencies, command, { progress: { write: () => undefined }, input });
}

sampled(test, 3).each(FORMAT_NAMES)('%s: the events are those of a request with the same lines', async (format) => {
  const lines = [...AGENT_LINES[format], ...ODD_LINES];
  const [imported, sent] = [await createSession(gateway, key), await createSession(gateway, key)];
  await importLines(imported, format, lines);
  await gateway.rest('POST', `/v1/sessions/${sent}/events`, {
    key,
    body: lines.join('\n'),
    headers: { 'Content-Type': `application/x-ndjson; format=${format}` },
  });
  const dataOf = async (id: string) => (await readAll(gateway, key, id)).map(({ eventData }) => eventData);
  expect(await dataOf(imported)).toEqual(await dataOf(sent));
});

test('importing again stores nothing twice, and lines that were added continue the messages before', async () => {
  const id = await createSession(gateway, key);
  const lines = AGENT_LINES.gemini;
  expect(await importLines(id, 'gemini', lines.slice(0, 3))).toEqual({
    imported: 3,
    skipped: 0,
    lastId: 3,
    redactedSecrets: 0,
  });
  expect(await importLines(id, 'gemini', lines)).toEqual({
    // The two messages in parts are repeated as a whole.
    imported: lines.length - 3 + 2,
    skipped: 3,
    lastId: lines.length + 2,
    redactedSecrets: 0,
  });
  const [, , , , joined] = await readAll(gateway, key, id);
  expect(joined?.eventData).toMatchObject({ accumulatedText: 'Hello.' });
});

test('an unknown format is refused with the known ones', () => {
  const id = '3f2a8c1e-5b7d-4e9f-8a1b-2c3d4e5f6a7b';
  expect(() => parseCommandLine(['events', 'import', '--session', id, '--format', 'perl', '-'])).toThrow(
    '--format: must be one of claude, codex, gemini, opencode, openai-responses',
  );
});
