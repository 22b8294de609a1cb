import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { auditRows } from '../../support/fixtures/audit-log.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';

/** The files of a transcript come back as they were sent. */

const gateway = useTestGateway();
let account: Awaited<ReturnType<typeof gateway.createKey>>;
let key: string;
beforeAll(async () => {
  account = await gateway.createKey();
  ({ key } = account);
});

const SECRET = `ghp_${'a1B2c3D4'.repeat(4)}e5F6`;
const said = (uuid: string, content: string, more: object = {}) =>
  JSON.stringify({ type: 'user', uuid, message: { role: 'user', content }, ...more });

async function begin(agent = 'claude', as = key, body: object = {}) {
  const path = `/v1/sessions/by-source/${agent}/${randomUUID()}`;
  const answer = await gateway.rest<{ id: string }>('PUT', path, { key: as, body });
  const { id } = answer.body;
  if (answer.status < 300)
    await gateway.rest('POST', `/v1/sessions/${id}/transition`, { key: as, body: { state: 'inProgress' } });
  return { id, status: answer.status };
}

async function send(id: string, text: string, query = '', { as = key, format = 'claude-transcript' } = {}) {
  const response = await gateway.fetch(`/v1/sessions/${id}/events${query}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${as}`, 'Content-Type': `application/x-ndjson; format=${format}` },
    body: text,
  });
  const body = (await response.json()) as { events: number; repeatedLines: number };
  return [response.status, body.events, body.repeatedLines];
}

async function exported(id: string, as = key) {
  const response = await gateway.fetch(`/v1/sessions/${id}/export?format=transcript`, {
    headers: { Authorization: `Bearer ${as}` },
  });
  const text = await response.text();
  if (response.status !== 200) return { status: response.status, error: JSON.parse(text) as unknown };
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as { file: string; line: string });
}

test('every line of every file, byte for byte but for credentials: blank ones, returns, long ones, repeated ones with other bytes', async () => {
  const { id } = await begin();
  const long = said('long', 'x\u2028é'.repeat(25_000));
  const main = [
    said('a', 'the first'),
    '',
    ' \t',
    `${said('b', 'two')}\r`,
    'no JSON',
    long,
    said('c', SECRET),
    'no JSON',
  ];
  await send(id, main.join('\n'), '?file=s.jsonl&fromLine=1');
  await send(
    id,
    `${said('a', 'the first', { cwd: '/copy' })}\n${said('z', 'sub')}`,
    '?file=s/subagents/agent-1.jsonl&fromLine=1',
  );
  const redacted = main.map((line) => line.replace(SECRET, '[redacted]'));
  const expected = [
    ...redacted.map((line) => ({ file: 's.jsonl', line })),
    { file: 's/subagents/agent-1.jsonl', line: said('a', 'the first', { cwd: '/copy' }) },
    { file: 's/subagents/agent-1.jsonl', line: said('z', 'sub') },
  ];
  expect(await exported(id)).toEqual(expected);
  // The same line id with other bytes takes the place of the one before.
  expect(await send(id, said('a', 'the first', { n: 2 }), '?file=s/subagents/agent-1.jsonl&fromLine=1')).toEqual([
    200, 0, 1,
  ]);
  expect(await exported(id)).toContainEqual({
    file: 's/subagents/agent-1.jsonl',
    line: said('a', 'the first', { n: 2 }),
  });
  // What a person has redacted does not come back with a line that was written otherwise.
  await gateway.rest('POST', `/v1/sessions/${id}/redact`, { key, body: { text: 'the first' } });
  await send(id, said('a', 'the first', { n: 3 }), '?file=s/subagents/agent-1.jsonl&fromLine=1');
  expect(JSON.stringify(await exported(id))).not.toContain('the first');
  expect(await auditRows(gateway)).toContainEqual(
    expect.objectContaining({ operation: 'exportSession', targetId: id, keyId: account.keyId }),
  );
});

test('a text that stands in other bytes of a line alone is redacted for good, too', async () => {
  const { id } = await begin();
  await send(id, said('a', 'the first'), '?file=s.jsonl&fromLine=1');
  const other = said('a', 'the first', { cwd: '/only-here' });
  await send(id, other, '?file=copy.jsonl&fromLine=1');
  expect(JSON.stringify(await exported(id))).toContain('/only-here');
  const { body } = await gateway.rest('POST', `/v1/sessions/${id}/redact`, { key, body: { text: '/only-here' } });
  expect(body).toEqual({ redactedEvents: 0, redactedTexts: 0 });
  await send(id, other, '?file=again.jsonl&fromLine=1');
  expect(JSON.stringify(await exported(id))).not.toContain('/only-here');
});

test('409 without a transcript of Claude Code or Codex, or without its files; 404 for who cannot read it', async () => {
  const { id } = await begin();
  await send(id, said('a', 'the first'));
  const refused = { status: 409, error: { details: expect.objectContaining({ code: 'WRONG_STATE' }) } };
  expect(await exported(id)).toMatchObject(refused);
  const other = await begin('gemini');
  await send(other.id, '{"id":"1"}', '?file=a.jsonl&fromLine=1', { format: 'gemini-chat' });
  expect(await exported(other.id)).toMatchObject(refused);
  expect(await exported(id, (await gateway.createKey()).key)).toMatchObject({ status: 404 });
});

test('lines in the form that a pull has written are known; a session that goes on with another one counts only what is new', async () => {
  const codex = (text: string) => `{"type":"event_msg","payload":{"type":"note","text":"${text}"}}`;
  const used = (n: number) =>
    JSON.stringify({
      type: 'event_msg',
      payload: {
        type: 'token_count',
        info: { last_token_usage: { input_tokens: n }, total_token_usage: { input_tokens: n } },
      },
    });
  const options = { format: 'codex-rollout' };
  const { id } = await begin('codex', key, { visibility: 'public' });
  await send(id, [codex('/home/a'), used(100)].join('\n'), '?file=r.jsonl&fromLine=1', options);
  const pulled = [codex('/home/b'), used(100)].join('\n');
  expect(await send(id, pulled, '?file=r.jsonl&fromLine=1&pulled=true', options)).toEqual([200, 0, 0]);
  expect(await send(id, `${pulled}\n${used(230)}`, '?file=r.jsonl&fromLine=1', options)).toEqual([201, 1, 2]);
  expect(await exported(id)).toEqual(
    [codex('/home/b'), used(100), used(230)].map((line) => ({ file: 'r.jsonl', line })),
  );
  const { key: theirs } = await gateway.createKey({ organization: account.organization, role: 'member' });
  expect((await send(id, pulled, '?file=r.jsonl&fromLine=1&pulled=true', { ...options, as: theirs }))[0]).toBe(403);
  const { key: foreign } = await gateway.createKey();
  expect(await begin('codex', foreign, { continuedFrom: id })).toMatchObject({ status: 404 });
  const own = await begin('codex', theirs, { continuedFrom: id });
  const mapped = [codex('/home/c'), used(100), used(230)].join('\n');
  await send(own.id, mapped, '?file=r.jsonl&fromLine=1&pulled=true', { ...options, as: theirs });
  await send(own.id, `${mapped}\n${used(300)}`, '?file=r.jsonl&fromLine=1', { ...options, as: theirs });
  const usage = await gateway.rest<{ inputTokens: number }>('GET', `/v1/sessions/${own.id}/usage`, { key: theirs });
  expect(usage.body.inputTokens).toBe(300);
  const query = 'query ($id: ID!) { session(id: $id) { continuedFrom { databaseId } } }';
  const { data } = await gateway.graphql<object>(theirs, query, { id: own.id });
  expect(data).toEqual({ session: { continuedFrom: { databaseId: id } } });
});
