import fc from 'fast-check';
import { expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { anyText } from '../../support/fixtures/any-text.ts';
import { explore } from '../../support/exploration.ts';
import { sampledRuns } from '../../support/sample.ts';

/** Any documented event is the same event on every path: what one defines and sends, all others read. */

const gateway = useTestGateway();

const VERSIONS = ['2026-03', 'v3', '2025-09', '2026-09', '2031-03'];
const PREFIXES = VERSIONS.flatMap((version) => [`/events/${version}`, `/events/custom/${version}`]);
const READING = VERSIONS.flatMap((version) => [
  `/events/event-occurrences/${version}`,
  `/events/${version}/events`,
  `/events/custom/${version}/events`,
  `/events/custom/${version}/event-occurrences`,
  `/events/custom/event-occurrences/${version}`,
]);

const DAY_MS = 86_400_000;
const label = (maxLength: number) =>
  anyText({ maxLength }).filter((text) => text !== '' && !text.includes('\0') && text.isWellFormed());
const value = anyText({ maxLength: 100 }).filter((text) => !text.includes('\0'));
const moment = fc.integer({ min: Date.UTC(2000), max: 4_000_000_000_000 });

/** A property of each documented type, with a value as a client may write it, and the text that is read. */
const property = fc.oneof(
  fc.boolean().map((flag) => ({ type: 'bool', sent: flag, read: String(flag) })),
  fc.boolean().map((flag) => ({ type: 'bool', sent: String(flag), read: String(flag) })),
  moment.map((time) => {
    const day = new Date(time).toISOString().slice(0, 10);
    return { type: 'date', sent: day, read: day };
  }),
  moment.map((time) => {
    const midnight = time - (time % DAY_MS);
    return { type: 'date', sent: midnight, read: new Date(midnight).toISOString().slice(0, 10) };
  }),
  moment.map((time) => ({ type: 'datetime', sent: time, read: new Date(time).toISOString() })),
  fc.constantFrom('one', 'true', '2').map((chosen) => ({ type: 'enumeration', sent: chosen, read: chosen })),
  fc.constant({ type: 'enumeration', sent: true, read: 'true' }),
  fc
    .integer({ min: -1e12, max: 1e12 })
    .map((tenths) => ({ type: 'number', sent: tenths / 10, read: String(tenths / 10) })),
  value.map((text) => ({ type: 'string', sent: text, read: text })),
  fc.integer().map((number) => ({ type: 'string', sent: number, read: String(number) })),
);

const OPTIONS = ['one', 'true', '2'].map((option) => ({ label: option, value: option }));

const event = fc.record({
  label: label(100),
  description: fc.option(value),
  primaryObject: fc.constantFrom('CONTACT', 'company', 'Deal', 'TICKET', 'p1_boats'),
  objectId: fc.integer({ min: 1, max: 2 ** 50 }),
  includeDefaultProperties: fc.boolean(),
  occurredAt: moment,
  properties: fc.array(property, { maxLength: 6 }),
});

type Json = Record<string, unknown>;

async function call<Body = Json>(key: string, method: string, path: string, status: number, body?: object) {
  const answer = await gateway.rest<Body>(method, path, { key, body });
  expect([method, path, answer.status, answer.text]).toEqual([method, path, status, expect.any(String)]);
  return answer.body;
}

let made = 0;

/** Each read path is used after one of the sending ones. */
const readAfter = (index: number) => READING.filter((_, place) => place % PREFIXES.length === index);

test('each documented event through each path family and version reads back the same', async () => {
  const { key } = await gateway.createKey();
  const names: string[] = [];
  await explore(sampledRuns(10, 3), event, async ({ properties, objectId, occurredAt, ...given }) => {
    const definition = {
      ...given,
      propertyDefinitions: properties.map(({ type }, index) => ({
        label: `Property ${index}`,
        name: `p${index}`,
        type,
        ...(type === 'enumeration' && { options: OPTIONS }),
      })),
    };
    const sent = Object.fromEntries(properties.map((each, index) => [`p${index}`, each.sent]));
    const read = Object.fromEntries(properties.map((each, index) => [`p${index}`, each.read]));
    const documents: Json[] = [];
    for (const [index, prefix] of PREFIXES.entries()) {
      made += 1;
      const name = `event_${made}`;
      const created = await call(key, 'POST', `${prefix}/event-definitions`, 201, { ...definition, name });
      names.push(name);
      const other = PREFIXES[(index + made) % PREFIXES.length];
      expect(await call(key, 'GET', `${other}/event-definitions/${name}`, 200)).toEqual(created);
      const one = { eventName: name, objectId, occurredAt, properties: sent };
      await call(key, 'POST', `${prefix}/send`, 204, one);
      await call(key, 'POST', `${prefix}/send/batch`, 204, { inputs: [{ ...one, objectId: String(objectId) }] });
      const wanted = {
        eventType: created['fullyQualifiedName'],
        objectType: created['primaryObject'],
        objectId: String(objectId),
        occurredAt: new Date(occurredAt).toISOString(),
        properties: read,
      };
      for (const path of readAfter(index)) {
        const { results } = await call<{ results: Json[] }>(key, 'GET', `${path}?eventType=${name}`, 200);
        expect(results).toEqual([wanted, wanted].map((each) => ({ id: expect.any(String), ...each })));
      }
      documents.push(withoutIdentity(created));
    }
    for (const document of documents) expect(document).toEqual(documents[0]);
    expect(documents[0]).toMatchObject({ label: given.label, description: given.description ?? '' });
  });
  // The last run may still go on when the time of the exploration has passed.
  const ended = [...names];
  for (const path of READING) {
    const { eventTypes } = await call<{ eventTypes: string[] }>(key, 'GET', `${path}/event-types`, 200);
    expect(eventTypes.map((type) => type.replace(/^pe\d+_/, ''))).toEqual(expect.arrayContaining(ended));
  }
});

/** What two definitions of the same event have in common. */
function withoutIdentity(definition: Json): Json {
  const { id: _id, name: _name, fullyQualifiedName: _fullName, objectTypeId: _type, properties, ...rest } = definition;
  const { createdAt: _createdAt, updatedAt: _updatedAt, ...same } = rest;
  const timeless = (properties as Json[]).map(({ createdAt: _created, updatedAt: _updated, ...each }) => each);
  return { ...same, properties: timeless };
}
