import { afterAll, beforeAll, expect, test } from 'vitest';
import { redactDocuments } from '../../../src/core/redaction/redact.ts';
import { type TestGateway, startTestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, mutate, readAll } from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

/** Credentials are replaced before events are stored, however the events arrive. Joined here, so that no scanner takes them for real ones. */

const join = (...parts: string[]) => parts.join('');
const BODY = 'MIIEpAIBAAKCAQEAabcd'.repeat(8);
const SECRETS: Readonly<Record<string, string>> = {
  'AWS access key id': join('AKIA', 'IOSFODNN7', 'EXAMPLE'),
  'GitHub token': join('ghp_', 'wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx'),
  'GitHub fine-grained token': join('github_pat_', '11ABCDEFG0abcdefghijkl_', 'a1'.repeat(29), 'b'),
  'Slack token': join('xoxb-', '123456789012-', '123456789012-', 'abcdefghijklmnopqrstuvwx'),
  'Anthropic key': join('sk-ant-', 'api03-', 'Ab1'.repeat(31), 'AA'),
  'OpenAI key': join('sk-proj-', 'Ab1'.repeat(20)),
  'Google key': join('AIza', 'SyA1234567890abcdefghijklmnopqrstuv'),
  'npm token': join('npm_', 'abcdefghijklmnopqrstuvwxyz0123456789'),
  'key of the gateway': `wgk_${'a1B2'.repeat(9)}`,
  'webhook secret': `whsec_${'a1B2'.repeat(9)}`,
  'private key': join('-----BEGIN RSA ', `PRIVATE KEY-----\n${BODY}\n-----END RSA `, 'PRIVATE KEY-----'),
};

const gateway = useTestGateway();
let open: TestGateway;
let key: string;
beforeAll(async () => {
  open = await startTestGateway({ RECORD_REDACTION: 'off' }, { beside: gateway });
  ({ key } = await gateway.createKey());
});
afterAll(() => open.close());

const eventWith = (text: string) => ({
  eventType: 'text',
  provider: 'anthropic',
  eventData: { type: 'text', deltaType: 'text_delta', accumulatedText: text },
});
const textsOf = async (sessionId: string) =>
  (await readAll(gateway, key, sessionId)).map(
    ({ eventData }) => (eventData as { accumulatedText?: string }).accumulatedText,
  );

sampled(test, 4).each(Object.entries(SECRETS))(
  '%s: replaced over GraphQL, over REST and in lines, and counted',
  async (_, secret) => {
    const id = await createSession(gateway, key);
    const text = `before ${secret} after`;
    const input = { sessionId: id, events: [eventWith(text)] };
    const overGraphQL = await mutate(gateway, key, 'appendSessionEvents', input, 'redactedSecrets');
    expect(overGraphQL).toMatchObject({ redactedSecrets: 1 });
    const overRest = await gateway.rest('POST', `/v1/sessions/${id}/events`, {
      key,
      body: { events: [eventWith(text)] },
    });
    expect(overRest.body).toMatchObject({ redactedSecrets: 1 });
    const lines = await gateway.rest('POST', `/v1/sessions/${id}/events`, {
      key,
      body: JSON.stringify({ type: 'text', part: { id: 'p', text } }),
      headers: { 'Content-Type': 'application/x-ndjson; format=opencode' },
    });
    expect(lines.body).toMatchObject({ redactedSecrets: 1 });
    expect(await textsOf(id)).toEqual(Array(3).fill('before [redacted] after'));
    const rows = await gateway.dependencies.sql.query<{ data: string }>(
      'select event_data::text as data from session_event where session_id = $1',
      [id],
    );
    expect(rows.filter(({ data }) => data.includes(JSON.stringify(secret).slice(1, -1)))).toEqual([]);
  },
);

test('the value of an Authorization header is replaced, in JSON inside of JSON too', async () => {
  const id = await createSession(gateway, key);
  const line = JSON.stringify({
    type: 'text',
    part: { text: 'x', headers: '{"Authorization":"Bearer abcdefghijk12345"}' },
  });
  const texts = [`curl -H 'Authorization: Bearer abcdefghijk12345' x`, line];
  await append(gateway, key, id, texts.map(eventWith));
  expect(await textsOf(id)).toEqual([
    `curl -H 'Authorization: Bearer [redacted]' x`,
    line.replace('abcdefghijk12345', '[redacted]'),
  ]);
});

test('a credential in parts of a stream is replaced where the whole is stored, and counts once', async () => {
  const event = (type: string, fields: object) => ({ type: 'stream_event', event: { type, index: 0, ...fields } });
  for (const secret of [SECRETS['key of the gateway'] ?? '', SECRETS['GitHub token'] ?? '']) {
    const id = await createSession(gateway, key);
    const before = 'word '.repeat(6500);
    // The text is stored again at 32 KiB, in the middle of the credential.
    const text = `${before.slice(0, 32 * 1024 - 20)} ${secret} after`;
    const parts = text.match(/[^]{1,997}/g) ?? [];
    const lines = [
      event('message_start', { message: { id: 'm' } }),
      event('content_block_start', { content_block: { type: 'text', text: '' } }),
      ...parts.map((part) => event('content_block_delta', { delta: { type: 'text_delta', text: part } })),
      { type: 'assistant', message: { id: 'm', role: 'assistant', content: [{ type: 'text', text }] } },
      event('content_block_stop', {}),
    ];
    const { status, body } = await gateway.rest('POST', `/v1/sessions/${id}/events`, {
      key,
      body: lines.map((line) => JSON.stringify(line)).join('\n'),
      headers: { 'Content-Type': 'application/x-ndjson; format=claude' },
    });
    expect({ status, body }).toMatchObject({ status: 201, body: { redactedSecrets: 1 } });
    const texts = (await textsOf(id)).filter((stored) => stored !== undefined);
    expect(texts).toContain(text.replace(secret, '[redacted]'));
    expect(texts.filter((stored) => stored.includes(secret))).toEqual([]);
  }
});

test('nothing that many appends do is kept by a library: entries of the performance timeline', async () => {
  const id = await createSession(gateway, key);
  const entries = () => performance.getEntries().filter(({ entryType }) => entryType !== 'resource').length;
  const before = entries();
  for (let count = 0; count < 50; count += 1)
    await append(gateway, key, id, [eventWith(`token ${SECRETS['npm token']}`)]);
  expect(entries()).toBe(before);
});

test('a retry of a batch with secrets is the same batch, and a text cannot turn the rules off', async () => {
  const id = await createSession(gateway, key);
  const events = [eventWith(`// secretlint-disable\n${SECRETS['npm token']}`)];
  expect(await append(gateway, key, id, events, 'b')).toMatchObject({ isReplayed: false });
  expect(await append(gateway, key, id, events, 'b')).toMatchObject({ isReplayed: true });
  expect(await textsOf(id)).toEqual(['// secretlint-disable\n[redacted]']);
});

test('RECORD_REDACTION=off stores texts as they are', async () => {
  const id = await createSession(gateway, key);
  const text = `token ${SECRETS['npm token']}`;
  expect(
    await mutate(open, key, 'appendSessionEvents', { sessionId: id, events: [eventWith(text)] }, 'redactedSecrets'),
  ).toMatchObject({ redactedSecrets: 0 });
  expect(await textsOf(id)).toEqual([text]);
});

test('JSON in a text that is nested deeply loses no event, and a secret in it is found', async () => {
  const sessionId = await createSession(gateway, key);
  const secret = SECRETS['GitHub token'] ?? '';
  for (const levels of [1_000, 30_000]) {
    const text = `{"a":${'['.repeat(levels)}"${secret}"${']'.repeat(levels)}}`;
    const { documents, secrets } = await redactDocuments([JSON.stringify({ type: 't', text })]);
    expect({ secrets, text: (JSON.parse(documents[0] ?? '') as { text: string }).text }).toEqual({
      secrets: 1,
      text: text.replace(secret, '[redacted]'),
    });
    const path = `/v1/sessions/${sessionId}/events`;
    const events = [{ eventType: 'e', provider: 'p', eventData: { type: 't', text } }];
    expect((await gateway.rest('POST', path, { key, body: { events } })).status).toBe(201);
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/x-ndjson; format=codex' };
    expect((await gateway.fetch(path, { method: 'POST', headers, body: text })).status).toBe(201);
  }
});
