import { expect, test } from 'vitest';
import { PROPERTIES, type RestError, define, refusalOfRest, stored } from '../../support/fixtures/event-occurrences.ts';
import { startTestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';

const gateway = useOwnGateway({ MONTHLY_OCCURRENCE_LIMIT: '1000' });

test('POST /send accepts one occurrence; the paths of its faults have no list index', async () => {
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
        { message: number, code: 'BAD_FORMAT', in: 'properties.price' },
        { message: unknown, code: 'UNKNOWN_FIELD', in: 'properties.y' },
      ],
    },
  ]);
  const shapes = await gateway.rest<RestError>('POST', path, {
    key,
    body: { eventName: name, properties: [1], occurredAt: 'yesterday', uuid: 'x'.repeat(256), more: 1 },
  });
  expect(refusalOfRest(shapes).faults).toEqual([
    'properties: must be an object',
    'occurredAt: must be an ISO 8601 date and time with an offset, such as 2026-03-01T10:20:30.500Z, or a UNIX timestamp in milliseconds',
    'uuid: must be at most 255 characters',
    'more: is not a known property',
  ]);
  expect(shapes.body.errors.map(({ code }) => code)).toEqual(['WRONG_TYPE', 'BAD_FORMAT', 'TOO_LONG', 'UNKNOWN_FIELD']);
  const absent = await gateway.rest<RestError>('POST', path, { key, body: { eventName: 'absent', properties: {} } });
  expect([absent.status, absent.body.message]).toEqual([404, 'eventName: event definition not found: "absent"']);
});

test('older clients can send to /events/v3, and occurredAt can be a timestamp in milliseconds', async () => {
  const { key } = await gateway.createKey();
  const eventName = await define(gateway, key, { propertyDefinitions: PROPERTIES });
  const times = [
    Date.UTC(2026, 2, 1, 10, 20, 30, 500),
    '1772360430501',
    '2026-03-01T11:20:30.502+01:00',
    '2026-03-01T10:20:30.503Z',
  ];
  const inputs = times.map((occurredAt) => ({ eventName, email: 'a@example.com', properties: {}, occurredAt }));
  const batch = await gateway.rest('POST', '/events/v3/send/batch', { key, body: { inputs: inputs.slice(1) } });
  const single = await gateway.rest('POST', '/events/v3/send', { key, body: inputs[0] });
  expect([batch.status, batch.text, single.status, single.text]).toEqual([204, '', 204, '']);
  expect((await stored(gateway, key, eventName)).map(({ occurredAt }) => occurredAt)).toEqual(
    [500, 501, 502, 503].map((milliseconds) => `2026-03-01T10:20:30.${milliseconds}Z`),
  );
  for (const occurredAt of [0.5, 1e300, '12:30', 8.64e15, -62135596800001]) {
    const refused = await gateway.rest<RestError>('POST', '/events/v3/send', {
      key,
      body: { ...inputs[0], occurredAt },
    });
    expect([refused.status, refused.body.errors.map(({ in: where }) => where)]).toEqual([400, ['occurredAt']]);
  }
});

test('429 above the monthly limit has Retry-After until the next month', async () => {
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
