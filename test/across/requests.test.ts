import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Route, takesBody } from '../../src/core/route.ts';
import { createDependencies } from '../../src/gateway/dependencies.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { routes } from '../../src/gateway/routes.ts';
import { type TestGateway, fetchOf, startTestGateway } from '../support/fixtures/gateway.ts';
import { send } from '../support/fixtures/second-gateway.ts';

let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ key } = await gateway.createKey());
});
afterAll(() => gateway.close());

const DEFINITIONS = '/events/2026-03/event-definitions';
const JSON_TYPE = { 'Content-Type': 'application/json' };
const UUID = '01890a5d-ac96-774b-bcce-b302099a8057';
const pathOf = (route: Route) => route.path.replaceAll(/:\w+/g, UUID);
const post = (path: string, body: BodyInit, headers: Record<string, string> = JSON_TYPE) =>
  send(gateway, 'POST', path, { key, body, headers });
const eventsError = (message: string, category: string, code: string, where = '') => ({
  status: 'error',
  message,
  category,
  correlationId: 'r1',
  errors: [{ message: where ? message.slice(where.length + 2) : message, code, in: where }],
});

describe('request ids', () => {
  const tell = async (path: string, id: string) => {
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

  test.each([graphql, refused, missing])('%s: a sane one is kept, in header, log line and body', async (path) => {
    for (const id of ['a', 'Az09._-', 'x'.repeat(128)])
      expect(await tell(path, id)).toEqual({ header: id, line: id, inBody: id });
  });

  test.each([graphql, refused, missing])(
    '%s: a hostile one is replaced, by the same in all three places',
    async (path) => {
      for (const id of ['', 'x'.repeat(129), 'a b', 'a"b', '<script>', 'a,b', 'ü', '%0d%0aX: y']) {
        const { header, line, inBody } = await tell(path, id);
        expect({ header, line, inBody }).toEqual({
          header: expect.stringMatching(/^[0-9a-f-]{36}$/),
          line: header,
          inBody: header,
        });
      }
    },
  );

  test('every answer carries one, pages and failures included', async () => {
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
  test('404 in the form of the path, on any method, with or without key', async () => {
    for (const method of ['GET', 'POST', 'DELETE', 'PUT', 'PROPFIND']) {
      for (const path of ['/nothing', '/v1', '/v1/', '/v1/organizations/', '/v2/organizations', '/V1/organizations']) {
        expect(await send(gateway, method, path)).toMatchObject({
          status: 404,
          body: { error: `there is nothing at ${path}` },
        });
      }
    }
    const headers = { 'X-Request-Id': 'r1' };
    expect(await send(gateway, 'GET', '/events/1999-01/x', { headers })).toMatchObject({
      status: 404,
      body: eventsError('there is nothing at /events/1999-01/x', 'OBJECT_NOT_FOUND', 'not_found'),
    });
    expect((await send(gateway, 'GET', `/${'x'.repeat(5000)}`)).text.length).toBeLessThan(300);
  });

  test('405 with Allow on every path of the table, for every method that it does not have', async () => {
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
          ? eventsError(message, 'VALIDATION_ERROR', 'method_not_allowed')
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

  test('HEAD answers as GET without a body', async () => {
    for (const path of [DEFINITIONS, `${DEFINITIONS}/none`, '/health/live', '/openapi.json']) {
      const [get, head] = [await send(gateway, 'GET', path, { key }), await send(gateway, 'HEAD', path, { key })];
      expect([head.status, head.headers.get('content-type'), head.text]).toEqual([
        get.status,
        get.headers.get('content-type'),
        '',
      ]);
    }
  });
});

describe('bodies', () => {
  const doors = ['/v1/organizations', DEFINITIONS, '/graphql'];
  const messageOf = (body: unknown) => {
    const { error, message, errors } = body as { error?: string; message?: string; errors?: { message: string }[] };
    return error ?? message ?? errors?.[0]?.message;
  };

  test.each(doors)('%s: 415 for what is not JSON in UTF-8, 400 for what is no JSON object', async (path) => {
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
    const array = path === '/graphql' ? /^The body is an array of requests/ : /^the body must be a JSON object$/;
    expect(messageOf((await post(path, '[]')).body)).toMatch(array);
    // A body that is refused elsewhere shows that this media type is accepted.
    for (const type of ['application/json;charset="UTF-8"', 'Application/JSON', 'application/problem+json'])
      expect((await post(path, '{"bogus":1}', { 'Content-Type': type })).status).toBe(400);
  });

  test.each(doors)('%s: 4 MiB pass, one byte more is 413, with the length announced or not', async (path) => {
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
  });

  test('JSON 200,000 deep is refused, not a failure', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(await post('/v1/organizations', `{"name":${deep}}`)).toMatchObject({
      status: 400,
      body: { error: 'name: must be a string' },
    });
    expect((await post('/graphql', `{"query":"{__typename}","variables":{"a":${deep}}}`)).status).toBe(200);
    expect((await post('/graphql', `{"query":${deep}}`)).status).toBe(400);
  });
});

/** Every place in a value, with a copy in which that place is replaced. */
function* variants(
  value: unknown,
  change: (at: unknown) => unknown,
  path: string[] = [],
): Generator<[path: string, changed: unknown]> {
  const changed = change(value);
  if (changed !== undefined) yield [path.join('.'), changed];
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    for (const [where, replaced] of variants(inner, change, [...path, name])) {
      yield [
        where,
        Array.isArray(value)
          ? value.map((item: unknown, index) => (String(index) === name ? replaced : item))
          : { ...value, [name]: replaced },
      ];
    }
  }
}

describe('hostile input to every route', () => {
  const withBody = routes.filter((route) => takesBody(route) && !route.optionalBody);
  /** Objects whose keys are the caller's own. */
  const OPEN = /(?:^|\.)(?:env|headers|attrs|richContent.*|properties|content)$/;

  test.each(withBody.map((route) => [route.operationId, route] as const))(
    '%s: unknown properties at every depth, __proto__ and constructor too, are 400 and pollute nothing',
    async (_, route) => {
      const example = route.examples?.input;
      if (!example) throw new Error(`add examples to ${route.operationId} in the rest.ts of its noun`);
      let tried = 0;
      for (const bad of ['bogus', '__proto__', 'constructor', 'prototype', 'toString']) {
        const isObject = (at: unknown): at is object => typeof at === 'object' && at !== null && !Array.isArray(at);
        const extra = JSON.parse(`{${JSON.stringify(bad)}:{"polluted":true}}`) as object;
        for (const [where, changed] of variants(example, (at) =>
          isObject(at) ? Object.defineProperties({ ...at }, Object.getOwnPropertyDescriptors(extra)) : undefined,
        )) {
          if (OPEN.test(where)) continue;
          tried += 1;
          const { status, text } = await send(gateway, route.method, pathOf(route), {
            key,
            headers: JSON_TYPE,
            body: JSON.stringify(changed),
          });
          expect([where, bad, status]).toEqual([where, bad, 400]);
          expect(text).toContain(`${where === '' ? '' : `${where}.`}${bad}: is not a known property`);
        }
      }
      expect(tried).toBeGreaterThan(0);
      expect([Object.hasOwn(Object.prototype, 'polluted'), Reflect.get({}, 'polluted')]).toEqual([false, undefined]);
    },
  );

  test.each(withBody.map((route) => [route.operationId, route] as const))(
    '%s: NUL, a lone surrogate, and a value of another type anywhere are never a failure',
    async (_, route) => {
      const example = route.examples?.input ?? {};
      for (const bad of ['a\0b', '\ud800', '\udfff x']) {
        for (const [where, changed] of variants(example, (at) => (typeof at === 'string' ? bad : undefined))) {
          const { status } = await send(gateway, route.method, pathOf(route), {
            key,
            headers: JSON_TYPE,
            body: JSON.stringify(changed),
          });
          // A reference to something that exists is looked up, and not found.
          expect([where, bad, [400, 404].includes(status) ? 'refused' : status]).toEqual([where, bad, 'refused']);
        }
      }
      for (const bad of [{ $gt: '' }, [['a']], 1e308, true, { length: 5 }]) {
        for (const [where, changed] of variants(example, (at) => (typeof at === 'string' ? bad : undefined))) {
          const { status } = await send(gateway, route.method, pathOf(route), {
            key,
            headers: JSON_TYPE,
            body: JSON.stringify(changed),
          });
          expect([where, bad, status]).toEqual([where, bad, 400]);
        }
      }
    },
  );

  test.each(routes.filter(({ path }) => path.includes(':')).map((route) => [route.method, route.path, route] as const))(
    '%s %s: hostile path parameters are refused',
    async (_, __, route) => {
      for (const segment of [
        '%00',
        'a%00b',
        '%ED%A0%80',
        '%E0%A4%A',
        '%',
        '%zz',
        '..%2f..%2fetc',
        '%27%20or%201=1--',
        'x'.repeat(3000),
        '__proto__',
        'constructor',
        '%F0%9F%98%80',
        '*',
        '%25',
      ]) {
        for (const path of [...route.path.matchAll(/:\w+/g)].map(([name]) =>
          route.path.replace(name, segment).replaceAll(/:\w+/g, UUID),
        )) {
          const { status } = await send(gateway, route.method, path, {
            key,
            ...(takesBody(route) && { headers: JSON_TYPE, body: JSON.stringify(route.examples?.input ?? {}) }),
          });
          expect([path.slice(0, 200), [400, 403, 404].includes(status) ? 'refused' : status]).toEqual([
            path.slice(0, 200),
            'refused',
          ]);
        }
      }
    },
  );

  test('malformed percent-encoding is 400 naming the parameter, in the form of the path', async () => {
    expect(await send(gateway, 'DELETE', '/v1/api-keys/%E0%A4%A', { key })).toMatchObject({
      status: 400,
      body: { error: 'apiKeyId: is not valid percent-encoding' },
    });
    expect(await send(gateway, 'GET', `${DEFINITIONS}/%`, { key, headers: { 'X-Request-Id': 'r1' } })).toMatchObject({
      status: 400,
      body: eventsError('eventName: is not valid percent-encoding', 'VALIDATION_ERROR', 'invalid', 'eventName'),
    });
  });

  test('query parameters: unknown, repeated and mistyped ones are 400', async () => {
    const at = async (query: string) =>
      (await send(gateway, 'GET', `${DEFINITIONS}?${query}`, { key, headers: { 'X-Request-Id': 'r1' } })).body;
    expect(await at('limit=1&limit=1')).toEqual(
      eventsError('limit: must be given only once', 'VALIDATION_ERROR', 'repeated', 'limit'),
    );
    expect(await at('bogus=1')).toEqual(
      eventsError('bogus: is not a known property', 'VALIDATION_ERROR', 'unknown_property', 'bogus'),
    );
    for (const [query, message] of [
      ['__proto__=1', '__proto__: is not a known property'],
      ['limit=1e2', 'limit: must be a number'],
      ['limit=', 'limit: must be a number'],
      ['includeProperties=1', 'includeProperties: must be a boolean'],
      ['limit[]=1', 'limit[]: is not a known property'],
    ] as const) {
      expect(await at(query)).toMatchObject({ status: 'error', message });
    }
    for (const query of [
      'searchString=%00',
      'searchString=%ED%A0%80',
      'searchString=%ff',
      'searchString=%25',
      'after=%00',
    ])
      expect(JSON.stringify(await at(query))).not.toContain('INTERNAL');
  });

  test('what the path says cannot be said otherwise', async () => {
    expect(await send(gateway, 'DELETE', `/v1/api-keys/${UUID}?apiKeyId=${UUID}`, { key })).toMatchObject({
      status: 400,
      body: { error: 'apiKeyId: is not a known property' },
    });
    expect(
      await send(gateway, 'PATCH', `${DEFINITIONS}/a`, { key, headers: JSON_TYPE, body: '{"eventName":"b"}' }),
    ).toMatchObject({ status: 400, body: { message: 'eventName: is not a known property' } });
  });
});

describe('failures', () => {
  const QUERY = '{ viewer { organization { slug eventDefinitions { nodes { name } } } } }';

  test('G7: a failure of ours is 500 without a detail, logged with its cause under the request id, the same over GraphQL', async () => {
    const broken = await startTestGateway();
    try {
      const issued = await broken.createKey();
      await broken.dependencies.sql.query('alter table event_definition rename to canary_table', []);
      const headers = { 'X-Request-Id': 'the-canary' };
      const rest = await send(broken, 'GET', DEFINITIONS, { key: issued.key, headers });
      const message = 'internal error; the request id finds it in the log';
      expect({ status: rest.status, body: rest.body }).toEqual({
        status: 500,
        body: { ...eventsError(message, 'INTERNAL_ERROR', 'internal'), correlationId: 'the-canary' },
      });
      const graphql = await broken.graphql(issued.key, QUERY, {}, headers);
      expect(graphql).toMatchObject({
        data: { viewer: { organization: null } },
        errors: [{ message, path: ['viewer', 'organization', 'eventDefinitions'], extensions: { code: 'INTERNAL' } }],
        extensions: { requestId: 'the-canary' },
      });
      expect(`${rest.text}${JSON.stringify(graphql)}`).not.toMatch(
        /event_definition|canary_table|does not exist|select |\.ts|node_modules|42P01/,
      );
      const causes = broken.logged
        .map((line) => JSON.parse(line) as { level: number; requestId?: string; err?: { message: string } })
        .filter(({ level }) => level >= 50);
      expect(causes).toHaveLength(2);
      for (const { requestId, err } of causes)
        expect({ requestId, told: err?.message.includes('event_definition') }).toEqual({
          requestId: 'the-canary',
          told: true,
        });
    } finally {
      await broken.close();
    }
  });

  test('a database that goes away: 503 with Retry-After on both doors, not ready, but alive; when it is back, so is the gateway', async () => {
    const proxy = await startProxy(gateway.databaseUrl);
    const { config, secrets, log } = gateway.dependencies;
    const dependencies = await createDependencies({ config, databaseUrl: proxy.url, secrets, log });
    const behind = { fetch: fetchOf(createGateway(dependencies)) };
    const headers = { 'X-Request-Id': 'r1' };
    const statuses = () =>
      Promise.all(
        [DEFINITIONS, '/graphql?query={__typename}', '/health/ready', '/health/live'].map(
          async (path) => (await send(behind, 'GET', path, { key })).status,
        ),
      );
    try {
      expect(await statuses()).toEqual([200, 200, 200, 200]);
      await proxy.stop();
      expect(await statuses()).toEqual([503, 503, 503, 200]);
      const message = 'the database cannot be reached at the moment; try again';
      const answers = [
        await send(behind, 'POST', '/v1/organizations', { key, headers }),
        await send(behind, 'GET', DEFINITIONS, { key, headers }),
        await send(behind, 'POST', '/graphql', { key, headers }),
      ];
      expect(answers.map(({ body }) => body)).toEqual([
        { error: message },
        eventsError(message, 'INTERNAL_ERROR', 'unavailable'),
        { errors: [{ message, extensions: { code: 'UNAVAILABLE' } }], extensions: { requestId: 'r1' } },
      ]);
      expect(answers.map((answer) => [answer.status, answer.headers.get('retry-after')])).toEqual(
        answers.map(() => [503, '1']),
      );
      await proxy.start();
      expect(await statuses()).toEqual([200, 200, 200, 200]);
    } finally {
      await dependencies.close();
      await proxy.stop();
    }
  });
});

/** Stands between a gateway and its database, so that the database can go away and come back. */
async function startProxy(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const server = createServer((incoming) => {
    const outgoing = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(from);
      from
        .on('error', () => to.destroy())
        .on('close', () => to.destroy())
        .pipe(to);
    }
  });
  const start = (port = 0) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await start();
  const { port } = server.address() as AddressInfo;
  const url = Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${port}` }).href;
  return {
    url,
    start: () => start(port),
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      sockets.clear();
      await closed;
    },
  };
}
