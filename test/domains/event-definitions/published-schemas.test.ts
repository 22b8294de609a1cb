import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';

/**
 * What the published response schemas of the upstream API, version 2026-03, require of answers. Clients that are generated from them check
 * it. One member is null against them, as the contract of this gateway says: `labels.plural` of a definition.
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
  customMatchingId: z.looseObject({ primaryObjectRule: rule }).optional(),
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

const gateway = useOwnGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

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

/** The body of an answer without content. */
const nothing = z.literal('');

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** What the published schema requires of the answer. */
  readonly schema: z.ZodType;
  readonly body?: object | string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly with?: string | null;
}

/** Sends the requests one after the other. @returns those whose answer has another status, or not what the schema requires. */
async function faultsOf(requests: readonly Sent[]): Promise<object[]> {
  const faults: object[] = [];
  for (const { method, path, status, schema, body, headers, with: by = key } of requests) {
    const answer = await gateway.rest(method, path, { ...(by !== null && { key: by }), body, headers });
    const issues = schema.safeParse(answer.text === '' ? '' : answer.body).error?.issues ?? [];
    if (answer.status !== status || issues.length > 0) faults.push({ method, path, status: answer.status, issues });
  }
  return faults;
}

const sent = (method: string, path: string, status: number, schema: z.ZodType, body?: object): Sent => ({
  method,
  path,
  status,
  schema,
  body,
});

test('every answer has what the published response schemas require', async () => {
  const order = { eventName: 'order_placed', properties: { member: 7, total: 9.5, gift: true, plan: 'free' } };
  const faults = await faultsOf([
    sent('POST', DEFINITIONS, 201, definition, ORDER_PLACED),
    sent('POST', DEFINITIONS, 201, definition, { label: 'Seen', includeDefaultProperties: false }),
    sent('GET', ORDER, 200, definition),
    sent('GET', `${ORDER}?includeProperties=false`, 200, definition),
    sent('GET', DEFINITIONS, 200, definitions),
    sent('GET', `${DEFINITIONS}?includeProperties=true&limit=1`, 200, definitions),
    sent('PATCH', ORDER, 200, definition, { label: 'Order paid', description: null }),
    sent('POST', `${ORDER}/property`, 201, property, { label: 'Note', type: 'string' }),
    sent('PATCH', `${ORDER}/property`, 200, property, { name: 'note', description: null }),
    sent('PATCH', `${ORDER}/property/plan`, 200, property, { options: [{ label: 'Free', value: 'free' }] }),
    sent('DELETE', `${ORDER}/property/note`, 204, nothing),
    sent('POST', SEND, 204, nothing, order),
    sent('POST', `${SEND}/batch`, 204, nothing, { inputs: [{ ...order, email: 'ada@example.com' }, order] }),
    sent('GET', `${OCCURRENCES}?eventType=order_placed`, 200, occurrences),
    sent('GET', `${OCCURRENCES}/event-types`, 200, eventTypes),
  ]);
  const query = 'eventType=order_placed&limit=1';
  const { body } = await gateway.rest<z.output<typeof occurrences>>('GET', `${OCCURRENCES}?${query}`, { key });
  const both = occurrences.extend({ paging: paging.required({ next: true, prev: true }) });
  const more = await faultsOf([
    sent('GET', `${OCCURRENCES}?${query}&after=${body.paging?.next?.after}`, 200, both),
    sent('DELETE', ORDER, 204, nothing),
  ]);
  expect([...faults, ...more]).toEqual([]);
});

test('every kind of error has what the published error schema requires', async () => {
  const { key: reader } = await gateway.createKey({ scopes: ['sessions.read'] });
  const faults = await faultsOf([
    sent('POST', DEFINITIONS, 201, definition, { label: 'Taken', name: 'taken' }),
    sent('POST', DEFINITIONS, 409, error, { label: 'Taken', name: 'taken' }),
    sent('POST', DEFINITIONS, 400, error, { name: 'No label', propertyDefinitions: [{}] }),
    sent('GET', `${DEFINITIONS}/unknown`, 404, error),
    sent('GET', `${DEFINITIONS}?after=unknown`, 400, error),
    sent('PUT', DEFINITIONS, 405, error),
    sent('POST', SEND, 404, error, { eventName: 'unknown' }),
    { ...sent('GET', DEFINITIONS, 401, error), with: null },
    { ...sent('GET', DEFINITIONS, 403, error), with: reader },
    { ...sent('POST', SEND, 400, error), body: '{' },
    { ...sent('POST', SEND, 415, error), body: '{', headers: { 'Content-Type': 'text/plain' } },
  ]);
  expect(faults).toEqual([]);
});
