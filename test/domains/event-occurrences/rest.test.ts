import { afterAll, beforeAll, expect, test } from 'vitest';
import { PROPERTIES, type RestError, define, refusalOfRest, stored } from '../../support/fixtures/event-occurrences.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ MONTHLY_OCCURRENCE_LIMIT: '1000' });
});
afterAll(() => gateway.close());

test('POST /send takes one occurrence, and names faults without a place in a list', async () => {
  const { key } = await gateway.createKey();
  const name = await define(gateway, key, { propertyDefinitions: PROPERTIES });
  const path = '/events/2026-03/send';
  const sent = await gateway.rest('POST', path, {
    key,
    body: { eventName: name, email: 'a@example.com', properties: { price: 1 } },
  });
  expect([sent.status, sent.text]).toEqual([204, '']);
  expect(await stored(gateway, key, name)).toHaveLength(1);
  const refused = await gateway.rest<RestError>('POST', path, {
    key,
    body: { eventName: name, email: 'a@example.com', properties: { price: 'x', y: 1 } },
    headers: { 'X-Request-Id': 'same' },
  });
  const [number, unknown] = ['must be a number with at most one decimal and 15 digits', 'is not a known property'];
  expect([refused.status, refused.body]).toEqual([
    400,
    {
      status: 'error',
      message: `properties.price: ${number}; properties.y: ${unknown}`,
      category: 'VALIDATION_ERROR',
      correlationId: 'same',
      errors: [
        { message: number, code: 'custom', in: 'properties.price' },
        { message: unknown, code: 'unknown_property', in: 'properties.y' },
      ],
    },
  ]);
  const shapes = await gateway.rest<RestError>('POST', path, {
    key,
    body: { eventName: name, occurredAt: 'yesterday', uuid: 'x', more: 1 },
  });
  expect(refusalOfRest(shapes).faults).toEqual([
    'properties: is required; it may be {}',
    'occurredAt: must be an ISO 8601 date and time with its offset, such as 2026-03-01T10:20:30.500Z',
    'uuid: must be a UUID',
    'more: is not a known property',
  ]);
  const absent = await gateway.rest<RestError>('POST', path, { key, body: { eventName: 'absent', properties: {} } });
  expect([absent.status, absent.body.message]).toEqual([404, 'event definition not found']);
});

test('429 over the month’s limit has Retry-After until the next month, and the documented form', async () => {
  const small = await startTestGateway({ MONTHLY_OCCURRENCE_LIMIT: '1' }, { beside: gateway });
  small.setClock(new Date('2026-02-28T23:59:00.250Z'));
  const { key } = await gateway.createKey();
  const eventName = await define(gateway, key, { primaryObject: 'NO_OBJECT' });
  const post = () =>
    small.rest<RestError>('POST', '/events/2026-03/send', { key, body: { eventName, properties: {} } });
  expect((await post()).status).toBe(204);
  const { status, headers, body } = await post();
  expect([status, headers.get('retry-after'), body.category]).toEqual([429, '60', 'RATE_LIMITS']);
  await small.close();
});
