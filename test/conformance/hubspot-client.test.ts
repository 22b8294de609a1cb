import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { Client } from '@hubspot/api-client';
import { beforeAll, expect, test } from 'vitest';
import { codeBlocks } from '../support/documents.ts';
import { startServedGateway } from '../support/fixtures/served-gateway.ts';
import { proof } from '../support/proof.ts';
import { generatedFolder } from './helpers/apps.ts';

/**
 * The npm client that most callers of the event API use, unchanged and configured as in its README: with an access
 * token and a base path.
 */

const gateway = await startServedGateway();
let client: Client;
let key: string;
const used = new Set<string>();

beforeAll(async () => {
  ({ key } = await gateway.createKey());
  client = new Client({ accessToken: key, basePath: gateway.url, numberOfApiCallRetries: 2 });
});

interface Definition {
  readonly name: string;
  readonly fullyQualifiedName: string;
  readonly label: string;
  readonly properties: readonly { readonly name: string; readonly type: string; readonly options: readonly object[] }[];
}

/** Calls an endpoint for which the client has no typed method ("Not wrapped endpoints" in its README). */
async function request<Body = undefined>(method: string, path: string, status: number, body?: object): Promise<Body> {
  const response = await client.apiRequest({ method, path, ...(body && { body }) });
  const text = await response.text();
  expect([method, path, response.status, text]).toEqual([method, path, status, expect.any(String)]);
  used.add(`${method} ${path.replaceAll(/[a-z]*_?[0-9a-f]{8}\b|\?.*/g, '…')}`);
  return (text === '' ? undefined : JSON.parse(text)) as Body;
}

const unique = () => `event_${randomUUID().slice(0, 8)}`;

/** A request as in the reference of the client, where options have five fields. */
const definition = (name: string) => ({
  label: 'Checkout',
  name,
  description: 'Somebody began to pay.',
  primaryObject: 'CONTACT',
  includeDefaultProperties: true,
  customMatchingId: {
    primaryObjectRule: { targetObjectPropertyName: 'member_number', eventPropertyName: 'member' },
  },
  propertyDefinitions: [
    { label: 'Member', name: 'member', type: 'string', description: 'Number of the member.', options: [] },
    { label: 'Total', name: 'total', type: 'number' },
    {
      label: 'Plan',
      name: 'plan',
      type: 'enumeration',
      options: [
        { label: 'Free', value: 'free', displayOrder: 1, hidden: false, description: 'Costs nothing.' },
        { label: 'Pro', value: 'pro', displayOrder: 2, hidden: false, description: '' },
      ],
    },
  ],
});

const created = (path: string, name: string) => request<Definition>('POST', path, 201, definition(name));

test.each([
  '/events/v3/event-definitions',
  '/events/2026-03/event-definitions',
  '/events/custom/2026-03/event-definitions',
])('definitions through its generic request at %s', async (path) => {
  const name = unique();
  const made = await created(path, name);
  const custom = (from: Definition) => from.properties.filter(({ name: own }) => !own.startsWith('svc_'));
  expect(custom(made).map(({ name: own, type }) => `${own} ${type}`)).toEqual([
    'member string',
    'total number',
    'plan enumeration',
  ]);

  const one = `${path}/${name}`;
  expect(await request('GET', one, 200)).toEqual(made);
  expect(await request('GET', `${path}/${made.fullyQualifiedName}`, 200)).toEqual(made);
  const found = await request<{ total: number; results: Definition[] }>(
    'GET',
    `${path}?searchString=${name}&includeProperties=true&limit=10`,
    200,
  );
  expect(found).toEqual({ total: 1, results: [made] });
  expect(await request('PATCH', one, 200, { label: 'Paid', description: 'Somebody paid.' })).toMatchObject({
    label: 'Paid',
    name,
  });

  // Reads, changes and writes: an option is appended to the options that were read.
  const plan = custom(made).find(({ name: own }) => own === 'plan');
  const options = [...(plan?.options ?? []), { label: 'Team', value: 'team', displayOrder: 3, hidden: false }];
  expect(await request('PATCH', `${one}/property`, 200, { name: 'plan', options })).toMatchObject({ options });
  expect(await request('PATCH', `${one}/property/plan`, 200, { name: 'plan', options })).toMatchObject({ options });
  await request('POST', `${one}/property`, 201, { label: 'Note', type: 'string', options: [] });
  await request('DELETE', `${one}/property/note`, 204);
  await request('DELETE', one, 204);
});

test('the link of a page leads to the next page', async () => {
  const names = [unique(), unique()];
  for (const name of names) await created('/events/v3/event-definitions', name);
  type Page = { results: Definition[]; paging: { next: { link: string } } };
  const page = await request<Page>('GET', '/events/v3/event-definitions?limit=1', 200);
  const next = new URL(page.paging.next.link);
  const following = await request<Page>('GET', `${next.pathname}${next.search}`, 200);
  expect(following.results[0]?.name).not.toBe(page.results[0]?.name);
});

test('typed methods send one occurrence or many, and read them and their types', async () => {
  const { name, fullyQualifiedName } = await created('/events/v3/event-definitions', unique());
  const [uuid, email] = [randomUUID(), 'Ada@example.com'];
  const occurredAt = new Date('2026-03-01T10:20:30.500Z');
  const one = {
    eventName: fullyQualifiedName,
    email,
    objectId: '101',
    utk: 'visitor',
    uuid,
    occurredAt,
    properties: { total: '12.5', plan: 'pro', hs_city: 'Bonn' },
  };
  await client.events.send.basicApi.send(one);
  const later = new Date(occurredAt.getTime() + 60_000);
  await client.events.send.batchApi.send({
    inputs: [
      { eventName: name, objectId: '102', occurredAt: later, uuid: 'order-7', properties: { member: 'M-1' } },
      { ...one, uuid: 'order-8', properties: {} },
      one,
    ],
  });

  const { eventsApi } = client.events;
  const { results } = await eventsApi.getPage('contact', fullyQualifiedName);
  expect(results).toMatchObject([
    { objectId: '102', occurredAt: later, objectType: 'CONTACT', properties: { member: 'M-1' } },
    { eventType: fullyQualifiedName },
    { eventType: fullyQualifiedName },
  ]);
  expect(results?.map(({ id }) => id)).toHaveLength(3);
  const { results: sent } = await eventsApi.getPage(
    undefined,
    name,
    undefined,
    undefined,
    5,
    ['ASCENDING'],
    undefined,
    later,
    101,
    undefined,
    { 'property.hs_city': 'Bonn' },
    [uuid],
  );
  expect(sent).toMatchObject([
    { objectId: '101', occurredAt, properties: { total: '12.5', plan: 'pro', svc_city: 'Bonn' } },
  ]);
  const byAddress = { 'objectProperty.email': email };
  const ofPerson = await eventsApi.getPage(
    'contacts',
    name,
    undefined,
    undefined,
    1,
    undefined,
    undefined,
    undefined,
    undefined,
    byAddress,
  );
  expect(ofPerson.results).toHaveLength(1);
  const next = await eventsApi.getPage(
    'contacts',
    name,
    ofPerson.paging?.next?.after,
    undefined,
    1,
    undefined,
    undefined,
    undefined,
    undefined,
    byAddress,
  );
  expect([next.results?.length, next.paging?.next]).toEqual([1, undefined]);
  const back = await eventsApi.getPage(
    'contacts',
    name,
    undefined,
    next.paging?.prev?.before,
    1,
    undefined,
    undefined,
    undefined,
    undefined,
    byAddress,
  );
  expect(back.results).toEqual(ofPerson.results);
  const none = await eventsApi.getPage(
    'contact',
    name,
    undefined,
    undefined,
    1,
    undefined,
    new Date('2026-03-02T00:00:00Z'),
  );
  expect(none.results).toEqual([]);
  expect((await eventsApi.getTypes()).eventTypes).toContain(fullyQualifiedName);
  for (const call of ['send.basicApi.send', 'send.batchApi.send', 'eventsApi.getPage', 'eventsApi.getTypes'])
    used.add(call);
});

test('the code of docs/clients-events.md works as documented', async () => {
  const code = await codeBlocks('docs/clients-events.md', 'js');
  expect(code).toHaveLength(6);
  const file = `${await generatedFolder('custom-events')}/custom-events.mjs`;
  await writeFile(file, code.join('\n'));
  const env = { ...process.env, GATEWAY_URL: gateway.url, GATEWAY_API_KEY: key };
  const { stdout } = await promisify(execFile)(process.execPath, [file], { env });
  const uuid = /[0-9a-f-]{36}/g;
  expect(stdout.replaceAll(uuid, '<id>').replaceAll(/pe\d+_/g, 'pe1_')).toMatchInlineSnapshot(`
    "checkout_started pe1_checkout_started
    <id> 2026-03-01T10:20:30.500Z 99.5
    <id> 2026-03-01T10:20:30.500Z 99.5
    400 VALIDATION_ERROR <id>
    inputs.0.properties.cart_total must be a number with at most one decimal and 15 digits
    "
  `);
});

test('the client throws its own exception for a refusal, with the documented error', async () => {
  const { name } = await created('/events/v3/event-definitions', unique());
  const refused = client.events.send.batchApi.send({
    inputs: [
      { eventName: name, properties: { total: 'much' } },
      { eventName: 'absent', properties: {} },
    ],
  });
  await expect(refused).rejects.toMatchObject({
    code: 400,
    body: {
      category: 'VALIDATION_ERROR',
      correlationId: expect.any(String),
      errors: [{ in: 'inputs.0.properties.total' }, { in: 'inputs.1.eventName' }],
    },
  });
  const stranger = new Client({ accessToken: 'wgk_unknown', basePath: gateway.url });
  await expect(stranger.events.eventsApi.getTypes()).rejects.toMatchObject({
    code: 401,
    body: { category: 'INVALID_AUTHENTICATION' },
  });
  proof('@hubspot/api-client', { figures: { 'calls and requests that work unchanged': used.size } });
});
