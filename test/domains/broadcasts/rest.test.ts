import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { type Answer, useTestGateway } from '../../support/fixtures/gateway.ts';

const CHANNELS = '/broadcast/v1/channels/setting/publish/current';
const BROADCASTS = '/broadcast/v1/broadcasts';
const DEPRECATION_HEADERS = ['@1772323200', '</docs>; rel="deprecation"; type="text/html"'];
const NOW = new Date('2026-03-01T10:20:30.500Z');

const gateway = useTestGateway();
afterEach(() => gateway.setClock(undefined));

interface Channel {
  readonly channelGuid: string;
}
interface Broadcast {
  readonly broadcastGuid: string;
  readonly content: { readonly body: string };
  readonly status: string;
}
type Refusal = { readonly error: string };

/** Sends a request, and checks that the answer is marked as deprecated. */
async function call<Body>(
  key: string | undefined,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<Body>> {
  const answer = await gateway.rest<Body>(method, path, { ...(key && { key }), body });
  expect([answer.headers.get('deprecation'), answer.headers.get('link')]).toEqual(DEPRECATION_HEADERS);
  return answer;
}

async function channelOf(key: string): Promise<string> {
  const { body } = await call<Channel[]>(key, 'GET', CHANNELS);
  return body[0]?.channelGuid ?? '';
}

async function create(key: string, body: object = {}): Promise<Broadcast> {
  const given = { channelGuid: await channelOf(key), content: { body: 'We are open.' }, ...body };
  const answer = await call<Broadcast>(key, 'POST', BROADCASTS, given);
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
  return answer.body;
}

test('an organization has one channel, which the first request for channels creates', async () => {
  const { key, organization } = await gateway.createKey();
  gateway.setClock(NOW);
  const answers = await Promise.all(Array.from({ length: 20 }, () => call<Channel[]>(key, 'GET', CHANNELS)));
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  const at = NOW.toISOString();
  expect(answers[0]?.body).toEqual([
    {
      channelGuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      channelKey: 'default',
      type: 'Default',
      name: 'Default channel',
      active: true,
      createdAt: at,
      updatedAt: at,
    },
  ]);
  const colleague = await gateway.createKey({ organization });
  expect(await channelOf(colleague.key)).toBe(answers[0]?.body[0]?.channelGuid);
  const stranger = await gateway.createKey();
  expect(await channelOf(stranger.key)).not.toBe(answers[0]?.body[0]?.channelGuid);
});

test('a broadcast is returned as it was created, including unknown fields of its content', async () => {
  const { key } = await gateway.createKey();
  const channelGuid = await channelOf(key);
  gateway.setClock(NOW);
  const content = {
    zeta: [1, { a: 'NUL \0, half a pair \uD800' }],
    body: 'We are open ☃.',
    photoUrl: 'https://example.com/p.png',
  };
  const given = { channelGuid, content, triggerAt: '2026-04-01T12:00:00+02:00' };
  const created = await call<Broadcast>(key, 'POST', BROADCASTS, given);
  const at = NOW.toISOString();
  const document = {
    broadcastGuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
    channelGuid,
    content,
    status: 'waiting',
    triggerAt: '2026-04-01T10:00:00.000Z',
    createdAt: at,
    userUpdatedAt: at,
    message: null,
  };
  expect([created.status, created.body]).toEqual([201, document]);
  const read = await call(key, 'GET', `${BROADCASTS}/${created.body.broadcastGuid}`);
  expect([read.status, read.text]).toEqual([200, created.text]);
  const list = await call(key, 'GET', BROADCASTS);
  expect([list.status, list.text]).toEqual([200, `[${created.text}]`]);
  expect(await create(key, { triggerAt: null })).toMatchObject({ triggerAt: at });
});

test('DELETE cancels a broadcast, which can still be read; a second DELETE changes nothing', async () => {
  const { key } = await gateway.createKey();
  const { broadcastGuid } = await create(key);
  const path = `${BROADCASTS}/${broadcastGuid}`;
  gateway.setClock(NOW);
  const answers = [await call(key, 'DELETE', path)];
  const canceled = await call<Broadcast>(key, 'GET', path);
  expect(canceled.body).toMatchObject({ status: 'canceled', userUpdatedAt: NOW.toISOString(), message: null });
  gateway.setClock(new Date('2026-05-01T00:00:00Z'));
  answers.push(await call(key, 'DELETE', path.toUpperCase().replace(BROADCASTS.toUpperCase(), BROADCASTS)));
  expect(answers.map(({ status, text }) => [status, text])).toEqual([
    [204, ''],
    [204, ''],
  ]);
  expect((await call(key, 'GET', path)).text).toBe(canceled.text);
});

test.for(['succeeded', 'failed'])('409: a broadcast that has %s can no longer be canceled', async (status) => {
  const { key } = await gateway.createKey();
  const { broadcastGuid } = await create(key);
  await gateway.dependencies.sql.query('update broadcast set status = $1 where id = $2', [status, broadcastGuid]);
  const { status: answered, body } = await call(key, 'DELETE', `${BROADCASTS}/${broadcastGuid}`);
  expect([answered, body]).toEqual([409, { error: `the broadcast has ${status} and can no longer be canceled` }]);
});

test('the list is newest first, its pages contain each broadcast once, and it can be filtered by status', async () => {
  const { key } = await gateway.createKey();
  const made: string[] = [];
  gateway.setClock(NOW);
  for (let index = 0; index < 7; index += 1) {
    if (index === 3) gateway.setClock(new Date(NOW.getTime() + 1));
    made.unshift((await create(key)).broadcastGuid);
  }
  const seen: string[] = [];
  for (let page = ['']; page.length > 0;) {
    const after = seen.at(-1);
    const { body } = await call<Broadcast[]>(key, 'GET', `${BROADCASTS}?limit=2${after ? `&after=${after}` : ''}`);
    page = body.map(({ broadcastGuid }) => broadcastGuid);
    seen.push(...page);
  }
  expect(seen.toSorted()).toEqual(made.toSorted());
  expect(new Set(seen.slice(0, 4))).toEqual(new Set(made.slice(0, 4)));
  expect((await call(key, 'DELETE', `${BROADCASTS}/${made[1]}`)).status).toBe(204);
  const guids = async (status: string) =>
    (await call<Broadcast[]>(key, 'GET', `${BROADCASTS}?status=${status}`)).body.map(
      ({ broadcastGuid }) => broadcastGuid,
    );
  expect(await guids('canceled')).toEqual([made[1]]);
  expect(await guids('waiting')).toHaveLength(6);
});

test('older clients can create with a numeric triggerAt and a status, and list with count, since, withChannels and the old status names', async () => {
  const { key } = await gateway.createKey();
  gateway.setClock(NOW);
  const triggerAt = Date.UTC(2026, 3, 1, 10);
  const first = await create(key, { triggerAt, status: 'waiting' });
  expect(first).toMatchObject({ triggerAt: '2026-04-01T10:00:00.000Z', status: 'waiting', message: null });
  gateway.setClock(new Date(NOW.getTime() + 1000));
  const draft = await create(key, { triggerAt: String(triggerAt), status: 'DRAFT' });
  expect(draft).toMatchObject({ ...first, ...draft, status: 'waiting', message: 'Created as a draft.' });
  const published = 'update broadcast set status = $1 where id = $2';
  await gateway.dependencies.sql.query(published, ['succeeded', first.broadcastGuid]);

  const list = async (query: string) => (await call<Broadcast[]>(key, 'GET', `${BROADCASTS}?${query}`)).body;
  const guids = async (query: string) => (await list(query)).map(({ broadcastGuid }) => broadcastGuid);
  expect(await guids('status=success')).toEqual([first.broadcastGuid]);
  expect(await guids('status=error_fatal')).toEqual([]);
  expect(await guids('count=1')).toEqual([draft.broadcastGuid]);
  expect(await guids('count=1&limit=1')).toEqual([draft.broadcastGuid]);
  for (const since of [NOW.getTime() + 1000, new Date(NOW.getTime() + 1000).toISOString()])
    expect(await guids(`since=${since}`)).toEqual([draft.broadcastGuid]);
  expect(await guids(`since=${NOW.getTime()}`)).toEqual([draft.broadcastGuid, first.broadcastGuid]);
  const channel = (await call<Channel[]>(key, 'GET', CHANNELS)).body[0];
  expect(await list('withChannels=true&status=waiting')).toEqual([{ ...draft, channel }]);
  expect(await list('withChannels=false&status=waiting')).toEqual([draft]);
});

test('a broadcast that was read can be sent back, without its read-only fields, to create the same broadcast', async () => {
  const { key } = await gateway.createKey();
  type Schemas = { Broadcast: { properties: Record<string, { readOnly?: boolean }> } };
  const openapi = await gateway.rest<{ components: { schemas: Schemas } }>('GET', '/openapi.json');
  const { properties } = openapi.body.components.schemas.Broadcast;
  const { broadcastGuid } = await create(key, { content: { body: 'x', photoUrl: 'https://example.com/p.png' } });
  for (const status of ['waiting', 'canceled', 'succeeded', 'failed']) {
    await gateway.dependencies.sql.query('update broadcast set status = $1 where id = $2', [status, broadcastGuid]);
    const { body } = await call<Record<string, unknown>>(key, 'GET', `${BROADCASTS}/${broadcastGuid}`);
    const writable = Object.fromEntries(Object.entries(body).filter(([name]) => properties[name]?.readOnly !== true));
    expect(await create(key, writable)).toMatchObject({ ...writable, status: 'waiting' });
  }
});

describe('refusals have the body {"error"} and are marked as deprecated', () => {
  test('400: an invalid creation', async () => {
    const [{ key }, stranger] = [await gateway.createKey(), await gateway.createKey()];
    const foreign = await channelOf(stranger.key);
    const channelGuid = await channelOf(key);
    const content = { body: 'x' };
    const refusal = async (body: unknown) => {
      const answer = await call<Refusal>(key, 'POST', BROADCASTS, body);
      expect([answer.status, Object.keys(answer.body)]).toEqual([400, ['error']]);
      return answer.body.error;
    };
    const noChannel = 'channelGuid: must be the channelGuid of a channel of the organization';
    expect(await refusal({ channelGuid: foreign, content })).toBe(noChannel);
    expect(await refusal({ channelGuid: randomUUID(), content })).toBe(noChannel);
    expect(await refusal({})).toBe('channelGuid: is required; content: is required');
    expect(await refusal({ channelGuid: 'x', content: { body: '' }, status: 'published', title: 'x' })).toBe(
      'channelGuid: must be a UUID; content.body: must not be empty; status: must be one of "waiting", "canceled", "succeeded", "failed", "success", "error_fatal", "DRAFT", "draft"; title: is not a known property',
    );
    expect(await refusal({ channelGuid, content: { body: 'x', more: 'y'.repeat(65_536) } })).toBe(
      'content: must be at most 65536 bytes (64 KiB) as JSON in UTF-8',
    );
    const deep = (levels: number) =>
      `{"channelGuid":"${channelGuid}","content":{"body":"x","more":${'['.repeat(levels)}${']'.repeat(levels)}}}`;
    expect(await refusal(deep(20))).toBe('content: must not be nested deeper than 20 levels');
    expect(await refusal(deep(5000))).toBe('content.more.0: must not be nested deeper than 500 levels');
    expect(await refusal({ channelGuid, content, triggerAt: 'soon' })).toMatch(/^triggerAt: must be an ISO 8601/);
    expect((await call<Broadcast[]>(key, 'GET', BROADCASTS)).body).toEqual([]);
  });

  test('400: invalid parameters of a list, and an invalid id', async () => {
    const { key } = await gateway.createKey();
    const refusal = async (path: string) => (await call<Refusal>(key, 'GET', path)).body.error;
    expect(await refusal(`${BROADCASTS}?limit=0`)).toBe('limit: must be at least 1');
    expect(await refusal(`${BROADCASTS}?limit=501`)).toBe('limit: must be at most 500');
    expect(await refusal(`${BROADCASTS}?after=${randomUUID()}`)).toBe(
      'after: must be the broadcastGuid of a broadcast of the organization',
    );
    expect(await refusal(`${BROADCASTS}?status=gone`)).toBe(
      'status: must be one of "waiting", "canceled", "succeeded", "failed", "success", "error_fatal"',
    );
    expect(await refusal(`${BROADCASTS}?limit=2&count=3`)).toBe('count: must be the same as limit, or absent');
    expect(await refusal(`${BROADCASTS}?count=0&withChannels=1`)).toBe(
      'count: must be at least 1; withChannels: must be a boolean',
    );
    expect(await refusal(`${BROADCASTS}/1`)).toBe('broadcast_guid: must be a UUID');
    expect(await refusal(`${CHANNELS}?x=1`)).toBe('x: is not a known property');
  });

  test('404: a missing and a foreign broadcast get the same answer, and the foreign one is not changed', async () => {
    const [owner, stranger] = [await gateway.createKey(), await gateway.createKey()];
    const { broadcastGuid } = await create(owner.key);
    for (const method of ['GET', 'DELETE']) {
      const answers = [broadcastGuid, randomUUID()].map((guid) => call(stranger.key, method, `${BROADCASTS}/${guid}`));
      expect((await Promise.all(answers)).map(({ status, text }) => `${status} ${text}`)).toEqual([
        '404 {"error":"broadcast not found"}',
        '404 {"error":"broadcast not found"}',
      ]);
    }
    expect((await call<Broadcast[]>(owner.key, 'GET', BROADCASTS)).body).toMatchObject([
      { broadcastGuid, status: 'waiting' },
    ]);
    expect((await call<Broadcast[]>(stranger.key, 'GET', BROADCASTS)).body).toEqual([]);
    const after = await call<Refusal>(stranger.key, 'GET', `${BROADCASTS}?after=${broadcastGuid}`);
    expect(after.body.error).toBe('after: must be the broadcastGuid of a broadcast of the organization');
  });

  test('401 without a key, 403 without the scope, on every route', async () => {
    const { key } = await gateway.createKey({ scopes: ['sessions.read'] });
    const calls: readonly [string, string, object?][] = [
      ['GET', CHANNELS],
      ['GET', BROADCASTS],
      ['POST', BROADCASTS, { channelGuid: randomUUID(), content: { body: 'x' } }],
      ['GET', `${BROADCASTS}/${randomUUID()}`],
      ['DELETE', `${BROADCASTS}/${randomUUID()}`],
    ];
    for (const [method, path, body] of calls) {
      expect((await call(undefined, method, path, body)).status).toBe(401);
      const answer = await call(key, method, path, body);
      expect([answer.status, answer.body]).toEqual([
        403,
        { error: 'the API key lacks the scope social', details: { missing: { scopes: [['social']] } } },
      ]);
    }
  });
});

test('the REST reference marks the five operations, and no other, as deprecated', async () => {
  type Operations = Record<string, Record<string, { deprecated?: boolean }>>;
  const { body } = await gateway.rest<{ paths: Operations }>('GET', '/openapi.json');
  const marked = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { deprecated }]) => (deprecated ? [`${method} ${path}`] : [])),
  );
  expect(marked.toSorted()).toEqual([
    `delete ${BROADCASTS}/{broadcast_guid}`,
    `get ${BROADCASTS}`,
    `get ${BROADCASTS}/{broadcast_guid}`,
    `get ${CHANNELS}`,
    `post ${BROADCASTS}`,
  ]);
});
