import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { DEFINITIONS_PATH, define, send } from '../../support/fixtures/event-occurrences.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';

/** The occurrences of an event as a file. */

const gateway = useTestGateway();
const minute = (index: number) => new Date(Date.UTC(2026, 2, 1, 10, index)).toISOString();

interface Found {
  readonly id: string;
  readonly occurredAt: string;
}

function fetchFile(key: string, name: string, query: Record<string, string> = {}, method = 'GET'): Promise<Response> {
  const path = `/v1/event-definitions/${name}/occurrences/export?${new URLSearchParams(query)}`;
  return gateway.fetch(path, { method, headers: { Authorization: `Bearer ${key}` } });
}
const linesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Found);

/** An event with 250 occurrences, ten in a minute; those of the search, earliest first. */
async function recorded(batches = 1) {
  const { key } = await gateway.createKey();
  const name = await define(gateway, key, { propertyDefinitions: [{ label: 'Note', name: 'note', type: 'string' }] });
  const other = await define(gateway, key);
  const inputs = Array.from({ length: 250 }, (_, index) => ({
    eventName: name,
    email: `person-${index}@example.com`,
    ...(index % 2 === 0 && { objectId: String(index) }),
    occurredAt: minute(Math.floor(index / 10)),
    properties: { note: `${index}` },
  }));
  for (let batch = 0; batch < batches; batch += 1)
    expect(await send(gateway, 'REST', key, [...inputs, { eventName: other, email: 'a@example.com' }])).toBeUndefined();
  const query = new URLSearchParams({ eventType: name, limit: '500', sort: 'ASC' });
  const path = `/events/event-occurrences/2026-03?${query}`;
  const { results } = (await gateway.rest<{ results: Found[] }>('GET', path, { key })).body;
  return { key, name, results };
}

test('has each occurrence as the search answers it, earliest first', async () => {
  const { key, name, results } = await recorded();
  const answer = await fetchFile(key, name);
  expect([answer.status, answer.headers.get('content-type'), answer.headers.get('content-disposition')]).toEqual([
    200,
    'application/x-ndjson; charset=utf-8',
    expect.stringMatching(/^attachment; filename="occurrences-[0-9a-f-]{36}\.ndjson"$/),
  ]);
  const text = await answer.text();
  expect(text.endsWith('}\n')).toBe(true);
  expect(results.length).toBe(250);
  expect(linesOf(text)).toEqual(results);
});

test('is between two times, and continues after each of its lines', async () => {
  const { key, name, results } = await recorded();
  const times = { occurredAfter: minute(3), occurredBefore: minute(20) };
  const wanted = results.filter(({ occurredAt }) => occurredAt > minute(3) && occurredAt < minute(20));
  expect(linesOf(await (await fetchFile(key, name, times)).text())).toEqual(wanted);
  // Also within one time, at the end of a page, and after the last one.
  for (const index of [0, 5, 99, 100, wanted.length - 1]) {
    const rest = await (await fetchFile(key, name, { ...times, after: wanted[index]?.id ?? '' })).text();
    expect(linesOf(rest)).toEqual(wanted.slice(index + 1));
  }
});

test('400, 403 and 404: unknown ids, parameters, events and foreign ones, and keys without the scope', async () => {
  const { key, name, results } = await recorded();
  const refused = async (query: Record<string, string>, by = key, event = name) => {
    const answer = await fetchFile(by, event, query);
    return [answer.status, await answer.text()];
  };
  expect(await refused({ after: randomUUID() })).toEqual([400, expect.stringContaining('after: is not the id')]);
  expect(await refused({ after: 'x' })).toEqual([400, expect.stringContaining('after')]);
  expect(await refused({ occurredAfter: 'x' })).toEqual([400, expect.stringContaining('occurredAfter')]);
  expect(await refused({ limit: '1' })).toEqual([400, expect.stringContaining('limit')]);
  expect(await refused({}, key, 'absent')).toEqual([404, expect.stringContaining('event definition not found')]);
  const foreign = await gateway.createKey();
  expect(await refused({}, foreign.key)).toEqual([404, expect.stringContaining('event definition not found')]);
  const foreignEvent = await define(gateway, foreign.key);
  expect(await refused({ after: results[0]?.id ?? '' }, foreign.key, foreignEvent)).toEqual([400, expect.any(String)]);
  const weak = await gateway.createKey({ scopes: ['sessions.read'] });
  expect((await refused({}, weak.key))[0]).toBe(403);
  expect((await fetchFile(key, name, {}, 'HEAD')).status).toBe(200);
});

test('a file whose event is deleted meanwhile, or that is left, is not complete and reads no further', async () => {
  // More pages than the stream of the fixture reads ahead.
  const { key, name } = await recorded(10);
  const reader = (await fetchFile(key, name)).body?.getReader();
  expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
  await gateway.rest('DELETE', `${DEFINITIONS_PATH}/${name}`, { key });
  const readRest = async () => {
    while ((await reader?.read())?.done === false);
  };
  await expect(readRest()).rejects.toThrow('event definition not found');

  const other = await recorded(10);
  const left = (await fetchFile(other.key, other.name)).body?.getReader();
  await left?.read();
  await left?.cancel();
  const sent = gateway.statements.length;
  await gateway.rest('GET', '/v1/api-keys', { key: other.key });
  const further = gateway.statements.slice(sent).filter((text) => text.includes('event_occurrence'));
  // The page that was being read.
  expect(further.length).toBeLessThanOrEqual(1);
});
