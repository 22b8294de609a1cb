import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';

/**
 * What the published response schemas of the upstream API, version 2026-03, require of answers. Clients that are generated from them check
 * it. Two members are null against them, as the contract of this gateway says: `labels.plural` and `customMatchingId` of a definition.
 */

const time = z.iso.datetime();

const option = z.looseObject({
  label: z.string(),
  value: z.string(),
  hidden: z.boolean(),
  displayOrder: z.int32().optional(),
  description: z.string().optional(),
});

const property = z.looseObject({
  name: z.string(),
  label: z.string(),
  type: z.string(),
  fieldType: z.string(),
  description: z.string(),
  groupName: z.string(),
  options: z.array(option),
  displayOrder: z.int32().optional(),
  archived: z.boolean().optional(),
  createdAt: time.optional(),
  updatedAt: time.optional(),
});

const rule = z.looseObject({ eventPropertyName: z.string(), targetObjectPropertyName: z.string() });

const definition = z.looseObject({
  id: z.string(),
  name: z.string(),
  fullyQualifiedName: z.string(),
  objectTypeId: z.string(),
  archived: z.boolean(),
  labels: z.looseObject({ singular: z.string(), plural: z.null() }),
  associations: z.array(z.never()),
  properties: z.array(property),
  description: z.string().optional(),
  primaryObject: z.string().optional(),
  trackingType: z.literal(['MANUAL', 'IMPORT', 'VISITED_URL', 'CLICKED_ELEMENT', 'CUSTOM_SCRIPT']).optional(),
  customMatchingId: z.looseObject({ primaryObjectRule: rule }).nullable(),
  createdAt: time.optional(),
  updatedAt: time.optional(),
});

const paging = z.looseObject({
  next: z.looseObject({ after: z.string(), link: z.url().optional() }).optional(),
  prev: z.looseObject({ before: z.string(), link: z.url().optional() }).optional(),
});

const definitions = z.looseObject({ results: z.array(definition), total: z.int32(), paging: paging.optional() });

const occurrence = z.looseObject({
  id: z.string(),
  eventType: z.string(),
  objectId: z.string(),
  objectType: z.string(),
  occurredAt: time,
  properties: z.record(z.string(), z.string()),
});

const occurrences = z.looseObject({ results: z.array(occurrence), paging: paging.optional() });
const eventTypes = z.looseObject({ eventTypes: z.array(z.string()) });

const fault = z.looseObject({ message: z.string(), code: z.string().optional(), in: z.string().optional() });
const error = z.looseObject({
  category: z.string(),
  correlationId: z.uuid(),
  message: z.string(),
  errors: z.array(fault).optional(),
});

let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ key } = await gateway.createKey());
});
afterAll(() => gateway.close());

const DEFINITIONS = '/events/2026-03/event-definitions';
const ORDER = `${DEFINITIONS}/order_placed`;
const SEND = '/events/2026-03/send';
const OCCURRENCES = '/events/event-occurrences/2026-03';

const ORDER_PLACED = {
  label: 'Order placed',
  customMatchingId: { primaryObjectRule: { targetObjectPropertyName: 'member_number', eventPropertyName: 'member' } },
  propertyDefinitions: [
    { label: 'Member', type: 'string' },
    { label: 'Total', type: 'number' },
    { label: 'Gift', type: 'bool' },
    { label: 'Plan', type: 'enumeration', options: [{ label: 'Pro', value: true }] },
  ],
};

/** Sends a request, and checks that its answer has the status and the members that the published schema requires. */
async function send(method: string, path: string, status: number, schema: z.ZodType | null, body?: object) {
  const answer = await gateway.rest(method, path, { key, body });
  expect([method, path, answer.status]).toEqual([method, path, status]);
  if (schema === null) expect(answer.text).toBe('');
  else expect(schema.safeParse(answer.body).error?.issues).toBeUndefined();
}

test('every answer has what the published response schemas require', async () => {
  await send('POST', DEFINITIONS, 201, definition, ORDER_PLACED);
  await send('POST', DEFINITIONS, 201, definition, { label: 'Seen', includeDefaultProperties: false });
  await send('GET', ORDER, 200, definition);
  await send('GET', `${ORDER}?includeProperties=false`, 200, definition);
  await send('GET', DEFINITIONS, 200, definitions);
  await send('GET', `${DEFINITIONS}?includeProperties=true&limit=1`, 200, definitions);
  await send('PATCH', ORDER, 200, definition, { label: 'Order paid', description: null });
  await send('POST', `${ORDER}/property`, 201, property, { label: 'Note', type: 'string' });
  await send('PATCH', `${ORDER}/property`, 200, property, { name: 'note', description: null });
  await send('PATCH', `${ORDER}/property/plan`, 200, property, { options: [{ label: 'Free', value: 'free' }] });
  await send('DELETE', `${ORDER}/property/note`, 204, null);

  const order = { eventName: 'order_placed', properties: { member: 7, total: 9.5, gift: true, plan: 'free' } };
  await send('POST', SEND, 204, null, order);
  await send('POST', `${SEND}/batch`, 204, null, { inputs: [{ ...order, email: 'ada@example.com' }, order] });
  await send('GET', `${OCCURRENCES}?eventType=order_placed`, 200, occurrences);
  const [first, middle] = await pagesOfOne();
  await send('GET', `${OCCURRENCES}?${first}`, 200, occurrences);
  await send('GET', `${OCCURRENCES}?${middle}`, 200, occurrences);
  await send('GET', `${OCCURRENCES}/event-types`, 200, eventTypes);
  await send('DELETE', ORDER, 204, null);
});

/** The queries of the first page with one occurrence, and of the next, which has a page on each side. */
async function pagesOfOne(): Promise<[string, string]> {
  const query = 'eventType=order_placed&limit=1';
  const { body } = await gateway.rest<z.output<typeof occurrences>>('GET', `${OCCURRENCES}?${query}`, { key });
  return [query, `${query}&after=${body.paging?.next?.after}`];
}

test('every kind of error has what the published error schema requires', async () => {
  await send('POST', DEFINITIONS, 201, definition, { label: 'Taken', name: 'taken' });
  await send('POST', DEFINITIONS, 409, error, { label: 'Taken', name: 'taken' });
  await send('POST', DEFINITIONS, 400, error, { name: 'No label', propertyDefinitions: [{}] });
  await send('GET', `${DEFINITIONS}/unknown`, 404, error);
  await send('GET', `${DEFINITIONS}?after=unknown`, 400, error);
  await send('PUT', DEFINITIONS, 405, error);
  await send('POST', SEND, 404, error, { eventName: 'unknown' });
  const { key: readOnly } = await gateway.createKey({ scopes: ['sessions.read'] });
  const asText = { 'Content-Type': 'text/plain' };
  const answers = [
    await gateway.rest('GET', DEFINITIONS),
    await gateway.rest('GET', DEFINITIONS, { key: readOnly }),
    await gateway.rest('POST', SEND, { key, body: '{', headers: asText }),
    await gateway.rest('POST', SEND, { key, body: '{' }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([401, 403, 415, 400]);
  for (const { body } of answers) expect(error.safeParse(body).error?.issues).toBeUndefined();
});
