import { beforeAll, describe, expect, test } from 'vitest';
import { type AnyRoute, isRaw, takesBody } from '../../src/core/http/route.ts';
import { routes } from '../../src/gateway/modules.ts';
import { useTestGateway } from '../support/fixtures/gateway.ts';
import { eventsError } from '../support/fixtures/rest-errors.ts';
import { refersIn } from '../support/operations/references.ts';
import { send } from '../support/fixtures/second-gateway.ts';
import { sampled } from '../support/sample.ts';

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const JSON_TYPE = { 'Content-Type': 'application/json' };
const DEFINITIONS_PATH = '/events/2026-03/event-definitions';
const UUID = '01890a5d-ac96-774b-bcce-b302099a8057';
const pathOf = (route: AnyRoute) => route.path.replaceAll(/:\w+/g, UUID);

/** For each place in a value: its path, and a copy of the value in which `change` has replaced that place. */
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
  // The body of a raw route is a document of another protocol.
  const withBody = routes
    .filter((route) => takesBody(route) && !route.optionalBody && !isRaw(route))
    .map((route) => [route.operationId, route] as const);
  /** Objects in which the caller can use any key: documents of GraphQL are `operations`. */
  const FREE_FORM = /(?:^|\.)(?:env|headers|attrs|richContent.*|properties|content|eventData|arguments|operations)$/;

  sampled(test, 8).each(withBody)(
    '%s: an unknown property at any depth, also __proto__ or constructor, is 400 and does not change Object.prototype',
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
          if (FREE_FORM.test(where)) continue;
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

  sampled(test, 8).each(withBody)(
    '%s: a number that JavaScript would change is 400 with its path, except in the data of events, which is kept as it came',
    async (_, route) => {
      let tried = 0;
      const digits = '12345678901234567891';
      const asWritten = (changed: unknown) => JSON.stringify(changed).replaceAll(`"${digits}"`, digits);
      const isLeaf = (at: unknown) => typeof at !== 'object' || at === null;
      for (const [where, changed] of variants(route.examples?.input, (at) => (isLeaf(at) ? digits : undefined))) {
        // Values of properties are checked by the definition.
        if (/(?:^|\.)(?:properties|env|headers)\./.test(where)) continue;
        tried += 1;
        const { status, text } = await send(gateway, route.method, pathOf(route), {
          key,
          headers: JSON_TYPE,
          body: asWritten(changed),
        });
        // Kept in the data of an event and in the arguments of a tool, so that the missing session is next.
        const isKept = /eventData\.(?:index|sequenceNumber)$|^arguments\./.test(where) && status === 404;
        const isRefused = status === 400 && text.includes(where);
        expect([where, isKept || isRefused, text]).toEqual([where, true, text]);
      }
      expect(tried).toBeGreaterThan(0);
    },
  );

  sampled(test, 8).each(withBody)(
    '%s: NUL, a lone surrogate or a value of another type at any place is refused, never a 500',
    async (_, route) => {
      const example = route.examples?.input ?? {};
      for (const bad of ['a\0b', '\ud800', '\udfff x']) {
        for (const [where, changed] of variants(example, (at) => (typeof at === 'string' ? bad : undefined))) {
          const { status } = await send(gateway, route.method, pathOf(route), {
            key,
            headers: JSON_TYPE,
            body: JSON.stringify(changed),
          });
          // 404 where the text is a reference to an object: the gateway looks for it and finds nothing.
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
          // The arguments of a tool have any type, so that the missing connection is next.
          expect([where, bad, status]).toEqual([where, bad, where.startsWith('arguments.') ? 404 : 400]);
        }
      }
    },
  );

  const withParameters = routes.filter(({ path }) => path.includes(':'));
  sampled(test, 12).each(withParameters.map((route) => [route.method, route.path, route] as const))(
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
          // A source is a text of the client, not a reference to an object.
          const isRefused = [400, 403, 404].includes(status) || (!refersIn(route.path) && [200, 201].includes(status));
          expect([path.slice(0, 200), isRefused ? 'refused' : status]).toEqual([path.slice(0, 200), 'refused']);
        }
      }
    },
  );

  test('malformed percent-encoding is 400, names the parameter, and has the error format of its path', async () => {
    expect(await send(gateway, 'DELETE', '/v1/api-keys/%E0%A4%A', { key })).toMatchObject({
      status: 400,
      body: { error: 'apiKeyId: is not valid percent-encoding' },
    });
    expect(
      await send(gateway, 'GET', `${DEFINITIONS_PATH}/%`, { key, headers: { 'X-Request-Id': 'r1' } }),
    ).toMatchObject({
      status: 400,
      body: eventsError('eventName: is not valid percent-encoding', 'VALIDATION_ERROR', 'BAD_FORMAT', 'eventName'),
    });
  });

  test('a repeated or mistyped query parameter is 400, and so is an unknown one, which only the event API ignores', async () => {
    const at = async (query: string) =>
      (await send(gateway, 'GET', `${DEFINITIONS_PATH}?${query}`, { key, headers: { 'X-Request-Id': 'r1' } })).body;
    expect(await at('limit=1&limit=1')).toEqual(
      eventsError('limit: must be given only once', 'VALIDATION_ERROR', 'DUPLICATE', 'limit'),
    );
    for (const query of ['bogus=1', '__proto__=1', 'limit[]=1', 'hapikey=x'])
      expect([query, await at(query)]).toEqual([query, { results: [], total: 0 }]);
    for (const [query, error] of [
      ['bogus=1', 'bogus: is not a known property'],
      ['__proto__=1', '__proto__: is not a known property'],
    ])
      expect((await send(gateway, 'GET', `/v1/sessions?${query}`, { key })).body).toEqual({ error });
    for (const [query, message] of [
      ['limit=1e2', 'limit: must be a number'],
      ['limit=', 'limit: must be a number'],
      ['includeProperties=1', 'includeProperties: must be a boolean'],
    ] as const) {
      expect(await at(query)).toMatchObject({ status: 'error', message });
    }
  });

  test('a search for text that no name can contain finds nothing, and a cursor that the gateway did not return is 400', async () => {
    await send(gateway, 'POST', DEFINITIONS_PATH, {
      key,
      headers: JSON_TYPE,
      body: JSON.stringify({ label: 'Order', name: 'order' }),
    });
    const answerTo = async (query: string) => {
      const { status, body } = await send(gateway, 'GET', `${DEFINITIONS_PATH}?${query}`, { key });
      return [status, body];
    };
    for (const text of ['%00', 'a%00', '%ED%A0%80', '%ff', '%25', '%5C', '_'])
      expect([text, ...(await answerTo(`searchString=${text}`))]).toEqual([text, 200, { results: [], total: 0 }]);
    expect(await answerTo('searchString=ord')).toMatchObject([200, { total: 1 }]);
    expect(await answerTo('after=%00')).toMatchObject([
      400,
      { message: 'after: is not a cursor of this list and order' },
    ]);
  });

  test('a path parameter is not accepted in the query or the body', async () => {
    expect(await send(gateway, 'DELETE', `/v1/api-keys/${UUID}?apiKeyId=${UUID}`, { key })).toMatchObject({
      status: 400,
      body: { error: 'apiKeyId: is not a known property' },
    });
    expect(
      await send(gateway, 'PATCH', `${DEFINITIONS_PATH}/a`, { key, headers: JSON_TYPE, body: '{"eventName":"b"}' }),
    ).toMatchObject({ status: 400, body: { message: 'eventName: is not a known property' } });
  });
});
