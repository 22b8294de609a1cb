import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { AnyRoute } from '../../../src/core/http/route.ts';
import { routes } from '../../../src/gateway/modules.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { eventsError } from '../../support/fixtures/rest-errors.ts';
import { send } from '../../support/fixtures/second-gateway.ts';

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const JSON_TYPE = { 'Content-Type': 'application/json' };
const DEFINITIONS = '/events/2026-03/event-definitions';
const pathOf = (route: AnyRoute) => route.path.replaceAll(/:\w+/g, '01890a5d-ac96-774b-bcce-b302099a8057');
const post = (path: string, body: BodyInit, headers: Record<string, string> = JSON_TYPE) =>
  send(gateway, 'POST', path, { key, body, headers });

test('the log line of a refused request says what was refused to whom, and why; over both APIs', async () => {
  const limited = await gateway.createKey({ scopes: ['api_keys.read'] });
  const lineOf = async (path: string, by = limited.key) => {
    gateway.logged.length = 0;
    await send(gateway, 'GET', path, { key: by });
    const lines = gateway.logged.map((text) => JSON.parse(text) as Record<string, unknown>);
    const { userId, organizationId, keyId, refused } = lines.find(({ msg }) => msg === 'request') ?? {};
    return { userId, organizationId, keyId, refused };
  };
  const { userId, organizationId, keyId } = await lineOf('/v1/sessions');
  expect([userId, organizationId, keyId]).toEqual([limited.userId, expect.any(String), expect.any(String)]);
  const message = 'the API key lacks the scope sessions.read';
  expect((await lineOf('/v1/sessions')).refused).toEqual([{ reason: 'forbidden', operation: 'listSessions', message }]);
  const query = encodeURIComponent('{ viewer { organization { sessions { totalCount } } } }');
  expect((await lineOf(`/graphql?query=${query}`)).refused).toEqual([
    { reason: 'forbidden', operation: 'sessions', message },
  ]);
  expect(await lineOf('/v1/sessions', key)).toEqual({ keyId: expect.any(String) });
});

describe('request ids', () => {
  const requestIdsOf = async (path: string, id: string) => {
    gateway.logged.length = 0;
    const answer = await send(gateway, 'GET', path, { key, headers: { 'X-Request-Id': id } });
    const [line] = gateway.logged
      .filter((text) => text.includes('"msg":"request"'))
      .map((text) => JSON.parse(text) as { requestId: string });
    const { correlationId, extensions } = (answer.body ?? {}) as {
      correlationId?: string;
      extensions?: { requestId: string };
    };
    return {
      header: answer.headers.get('x-request-id'),
      line: line?.requestId,
      inBody: correlationId ?? extensions?.requestId,
    };
  };
  const graphql = '/graphql?query={__typename}';
  const refused = '/graphql?query={';
  const missing = `${DEFINITIONS}/none`;

  test.each([graphql, refused, missing])(
    '%s: a valid id is used in the header, the log line and the body',
    async (path) => {
      for (const id of ['a', 'Az09._-', 'x'.repeat(128)])
        expect(await requestIdsOf(path, id)).toEqual({ header: id, line: id, inBody: id });
    },
  );

  test.each([graphql, refused, missing])(
    '%s: an invalid id is replaced with the same new id in all three places',
    async (path) => {
      for (const id of ['', 'x'.repeat(129), 'a b', 'a"b', '<script>', 'a,b', 'ü', '%0d%0aX: y']) {
        const { header, line, inBody } = await requestIdsOf(path, id);
        expect({ header, line, inBody }).toEqual({
          header: expect.stringMatching(/^[0-9a-f-]{36}$/),
          line: header,
          inBody: header,
        });
      }
    },
  );

  test('every answer has one, including pages and errors', async () => {
    for (const path of [
      '/',
      '/docs',
      '/openapi.json',
      '/health/live',
      '/metrics',
      '/nothing',
      '/v1/organizations',
      '/table-storage/v2/x',
    ]) {
      expect((await send(gateway, 'GET', path)).headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
  });
});

describe('unknown paths and methods', () => {
  test('an unknown path gets 404 in the error format of its API with any method, and 401 without a key', async () => {
    for (const method of ['GET', 'POST', 'DELETE', 'PUT', 'PROPFIND']) {
      for (const path of ['/nothing', '/v1', '/v1/', '/v1/organizations/', '/v2/organizations', '/V1/organizations']) {
        expect(await send(gateway, method, path, { key })).toMatchObject({
          status: 404,
          body: { error: `there is nothing at ${path}; /docs lists the addresses` },
        });
        expect(await send(gateway, method, path)).toMatchObject({
          status: 401,
          body: { error: 'missing API key; send the header Authorization: Bearer <key>' },
        });
      }
    }
    const headers = { 'X-Request-Id': 'r1' };
    expect(await send(gateway, 'GET', '/events/1999-01/x', { key, headers })).toMatchObject({
      status: 404,
      body: eventsError(
        'there is nothing at /events/1999-01/x; /docs lists the addresses',
        'OBJECT_NOT_FOUND',
        'NOT_FOUND',
      ),
    });
    expect((await send(gateway, 'GET', `/${'x'.repeat(5000)}`, { key })).text.length).toBeLessThan(300);
  });

  test('every known path gets 405 with Allow for every method that it does not have', async () => {
    for (const path of new Set(routes.map(pathOf))) {
      const own = routes
        .filter(
          (route) =>
            route.path.split('/').length === path.split('/').length &&
            new RegExp(`^${route.path.replaceAll(/:\w+/g, '[^/]+')}$`).test(path),
        )
        .map(({ method }) => method);
      const allowed = [...new Set(own.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))];
      for (const method of ['GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS', 'HEAD'].filter(
        (name) => !allowed.includes(name),
      )) {
        const { status, headers, body } = await send(gateway, method, path, { key, headers: { 'X-Request-Id': 'r1' } });
        const message = `${method} is not allowed here; allowed: ${allowed.join(', ')}`;
        const expected = path.startsWith('/events/')
          ? eventsError(message, 'VALIDATION_ERROR', 'METHOD_NOT_ALLOWED')
          : { error: message };
        expect({ path, method, status, allow: headers.get('allow'), body }).toEqual({
          path,
          method,
          status: 405,
          allow: allowed.join(', '),
          body: method === 'HEAD' ? undefined : expected,
        });
      }
    }
    const graphql = await send(gateway, 'PUT', '/graphql', { key });
    expect({ status: graphql.status, allow: graphql.headers.get('allow') }).toEqual({
      status: 405,
      allow: 'GET, POST',
    });
  });

  test('HEAD gets the status and the headers of GET without a body', async () => {
    const headersOf = ({ headers }: { headers: Headers }) =>
      Object.fromEntries([...headers].filter(([name]) => name !== 'x-request-id'));
    for (const path of [DEFINITIONS, `${DEFINITIONS}/none`, '/health/live', '/openapi.json']) {
      const [get, head] = [await send(gateway, 'GET', path, { key }), await send(gateway, 'HEAD', path, { key })];
      expect({ path, status: head.status, headers: headersOf(head), text: head.text }).toEqual({
        path,
        status: get.status,
        headers: headersOf(get),
        text: '',
      });
    }
  });
});

describe('bodies', () => {
  const apis = ['/v1/organizations', DEFINITIONS, '/graphql'];
  const messageOf = (body: unknown) => {
    const { error, message, errors } = body as { error?: string; message?: string; errors?: { message: string }[] };
    return error ?? message ?? errors?.[0]?.message;
  };

  test.each(apis)(
    '%s: a media type other than JSON in UTF-8 gets 415, and a body that is not a JSON object gets 400',
    async (path) => {
      const types = [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/xml',
        'application/json; charset=latin1',
        'application/jsonp',
        'text/json',
        '',
      ];
      for (const type of types) {
        const { status, body } = await post(
          path,
          new TextEncoder().encode('{"name":"a"}'),
          type === '' ? {} : { 'Content-Type': type },
        );
        expect([type, status, messageOf(body)]).toEqual([
          type,
          415,
          'the body must be sent as application/json, in UTF-8, without content encoding',
        ]);
      }
      expect((await post(path, '{}', { ...JSON_TYPE, 'Content-Encoding': 'gzip' })).status).toBe(415);
      expect((await post(path, '{}', { ...JSON_TYPE, 'Content-Encoding': 'identity' })).status).not.toBe(415);
      const bodies: [BodyInit, string][] = [
        ['{', 'the body is not well-formed JSON'],
        ['{"a":1}}', 'the body is not well-formed JSON'],
        ["{'a':1}", 'the body is not well-formed JSON'],
        ['\ufeff\ufeff{}', 'the body is not well-formed JSON'],
        ['null', 'the body must be a JSON object'],
        ['1', 'the body must be a JSON object'],
        ['"a"', 'the body must be a JSON object'],
        ['', 'the body must be a JSON object'],
        [new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), 'the body is not well-formed UTF-8'],
      ];
      for (const [given, message] of bodies) {
        const { status, body } = await post(path, given);
        expect([status, messageOf(body)]).toEqual([400, message]);
      }
      const array = path === '/graphql' ? /^The body must be one request/ : /^the body must be a JSON object$/;
      expect(messageOf((await post(path, '[]')).body)).toMatch(array);
      // The body is refused for another reason, so its media type is accepted.
      for (const type of ['application/json;charset="UTF-8"', 'Application/JSON', 'application/problem+json'])
        expect((await post(path, '{"bogus":1}', { 'Content-Type': type })).status).toBe(400);
    },
  );

  test.each(apis)(
    '%s: a body of 4 MiB is accepted, and one byte more gets 413, with or without Content-Length',
    async (path) => {
      const MAX = 4 * 1024 * 1024;
      const sized = (bytes: number) => `{"bogus":"${'x'.repeat(bytes - 12)}"}`;
      const chunked = (text: string) =>
        new ReadableStream({
          start: (controller) => (controller.enqueue(new TextEncoder().encode(text)), controller.close()),
        });
      for (const extra of [-1, 0, 1]) {
        for (const announced of [true, false]) {
          const text = sized(MAX + extra);
          const { status, body } = await post(
            path,
            announced ? text : chunked(text),
            announced ? { ...JSON_TYPE, 'Content-Length': String(text.length) } : JSON_TYPE,
          );
          expect([extra, announced, status]).toEqual([extra, announced, extra > 0 ? 413 : 400]);
          expect(messageOf(body)?.startsWith('the body must be at most 4194304 bytes (4 MiB)')).toBe(extra > 0);
        }
      }
      let pulled = 0;
      const endless = () =>
        new ReadableStream<Uint8Array>(
          { pull: (controller) => ((pulled += 1), controller.enqueue(new Uint8Array(65_536).fill(32))) },
          { highWaterMark: 0 },
        );
      expect((await post(path, endless())).status).toBe(413);
      expect(pulled).toBeLessThanOrEqual(66);
      pulled = 0;
      expect((await post(path, endless(), { ...JSON_TYPE, 'Content-Length': String(MAX + 1) })).status).toBe(413);
      expect(pulled).toBe(0);
    },
  );

  test('JSON with 200,000 levels causes no internal error', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(await post('/v1/organizations', `{"name":${deep}}`)).toMatchObject({
      status: 400,
      body: { error: 'name.0.0: must not be nested deeper than 500 levels' },
    });
    expect((await post('/graphql', `{"query":"{__typename}","variables":{"a":${deep}}}`)).status).toBe(400);
    expect((await post('/graphql', `{"query":${deep}}`)).status).toBe(400);
  });
});

test('a DELETE without input refuses a body that is not empty before it deletes anything', async () => {
  const path = `/v1/api-keys/${randomUUID()}`;
  const answers = [];
  for (const body of [undefined, '{}', '{"a":1}', '{bad', '[]']) {
    const { status, body: answer } = await gateway.rest<{ error: string }>('DELETE', path, { key, body });
    answers.push([status, answer.error]);
  }
  expect(answers).toEqual([
    [404, 'API key not found'],
    [404, 'API key not found'],
    [400, 'a: is not a known property'],
    [400, 'the body is not well-formed JSON'],
    [400, 'the body must be a JSON object'],
  ]);
});
