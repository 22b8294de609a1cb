import { afterAll, beforeAll, expect, test } from 'vitest';
import { redactSecrets } from '../../../src/domains/session-events/redaction.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, mutate, readAll } from '../../support/fixtures/sessions.ts';

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

let gateway: TestGateway;
let open: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  open = await startTestGateway({ RECORD_REDACTION: 'off' }, { beside: gateway });
  ({ key } = await gateway.createKey());
});
afterAll(async () => {
  await open.close();
  await gateway.close();
});

const eventWith = (text: string) => ({
  eventType: 'text',
  provider: 'anthropic',
  eventData: { type: 'text', deltaType: 'text_delta', accumulatedText: text },
});
const textsOf = async (sessionId: string) =>
  (await readAll(gateway, key, sessionId)).map(
    ({ eventData }) => (eventData as { accumulatedText?: string }).accumulatedText,
  );

test.each(Object.entries(SECRETS))(
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

test('the name of a property tells of its value, and a name in the text of its end', async () => {
  const value = join('wJalrXUtnFEMI', '/K7MDENG/', 'bPxRfiCYABCDEFGHIJ');
  const documents = [
    JSON.stringify({ headers: { Authorization: 'Bearer abcdefghijk12345', 'Content-Type': 'application/json' } }),
    JSON.stringify({ aws_secret_access_key: value, key: 'value of a key' }),
    JSON.stringify({ text: `export aws_secret_access_key = ${value} # end` }),
  ];
  expect(await redactSecrets(documents)).toEqual({
    documents: [
      '{"headers":{"Authorization":"Bearer [redacted]","Content-Type":"application/json"}}',
      '{"aws_secret_access_key":"[redacted]","key":"value of a key"}',
      '{"text":"export aws_secret_access_key = [redacted] # end"}',
    ],
    secrets: 3,
  });
});

test('the beginning of a key in one text hides no other text, whether an end follows or not', async () => {
  const texts = ['-----BEGIN PRIVATE KEY-----', 'rm -rf everything, in another text', 'see -----END PRIVATE KEY-----'];
  const documents = texts.map((text) => JSON.stringify({ text }));
  for (const given of [documents, documents.slice(0, 2)]) {
    const { documents: redacted } = await redactSecrets(given);
    expect(redacted).toEqual([JSON.stringify({ text: '[redacted]' }), ...given.slice(1)]);
  }
});

const token = (index: number) => join('gh', 'p_', String(index).padStart(36, 'a'));

test('a secret is found wherever it is in a long text', async () => {
  for (const before of [32, 44, 64].map((kib) => 'x '.repeat(kib * 512 - 10))) {
    const { documents } = await redactSecrets([JSON.stringify({ text: `${before}${token(1)} after` })]);
    expect(documents).toEqual([JSON.stringify({ text: `${before}[redacted] after` })]);
  }
});

test('the CPU time grows as the text, however many secrets it has', async () => {
  const cpuOf = async (count: number) => {
    const document = JSON.stringify({ text: Array.from({ length: count }, (_, index) => token(index)).join(' ') });
    const costs: number[] = [];
    for (let times = 0; times < 3; times += 1) {
      const before = process.cpuUsage();
      expect((await redactSecrets([document])).secrets).toBe(count);
      costs.push(process.cpuUsage(before).user);
    }
    return costs.toSorted((a, b) => a - b)[1] ?? 0;
  };
  await cpuOf(100);
  const small = await cpuOf(2_500);
  // Four times as much, not sixteen times.
  expect((await cpuOf(10_000)) / small).toBeLessThan(8);
}, 60_000);

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

test('other data keeps its text: long numbers, spaces and the order of fields', async () => {
  const plain = '{"b":1.0,"a":12345678901234567890,"c":"nothing to hide, sk-short and AKIA too"}';
  const secret = `{"n":12345678901234567890,"${'k'.repeat(40)}":["${SECRETS['npm token']}","${SECRETS['npm token']}"]}`;
  expect(await redactSecrets([plain, secret, secret])).toEqual({
    documents: [plain, ...Array(2).fill(`{"n":12345678901234567890,"${'k'.repeat(40)}":["[redacted]","[redacted]"]}`)],
    secrets: 2,
  });
  expect((await redactSecrets([secret, secret], () => 0)).secrets).toBe(1);
});

test('JSON in a text that is nested deeply loses no event, and a secret in it is found', async () => {
  const sessionId = await createSession(gateway, key);
  const secret = SECRETS['GitHub token'] ?? '';
  for (const levels of [1_000, 30_000]) {
    const text = `{"a":${'['.repeat(levels)}"${secret}"${']'.repeat(levels)}}`;
    const { documents, secrets } = await redactSecrets([JSON.stringify({ type: 't', text })]);
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
