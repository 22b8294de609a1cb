import { describe, expect, test } from 'vitest';
import { PRODUCT_FAMILIES, SUBSCRIPTION_LEVELS } from '../../../src/core/config.ts';
import { SCOPES } from '../../../src/core/access.ts';
import {
  type Api,
  DEFINITIONS_PATH,
  done,
  refused,
  refusedByBoth,
  workspaceOf,
} from '../../support/fixtures/event-definitions.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';

const gateway = useOwnGateway();

const BARE = { includeDefaultProperties: false };

describe('a caller without permission gets the same refusal on both APIs', () => {
  test('403: a key without the scope', async () => {
    const scopes = SCOPES.filter((scope) => scope !== 'behavioral_events.event_definitions.read_write');
    const message = 'the API key lacks the scope behavioral_events.event_definitions.read_write';
    const expected = { status: 403, message, faults: [{ message, code: 'FORBIDDEN', in: '' }] };
    for (const run of EVERY_WRITE) expect(await refusedByBoth(gateway, run, { scopes })).toEqual(expected);
    for (const run of EVERY_READ)
      expect(await refusedByBoth(gateway, async (api) => withoutFaults(await run(api)), { scopes })).toEqual({
        ...expected,
        faults: [],
      });
  });

  test('403 without a subscription at professional level or higher in at least one product family', async () => {
    const { api, other, organizationId } = await workspaceOf(gateway);
    const subscribe = (subscriptions: object) =>
      gateway.dependencies.sql.query('update organization set subscriptions = $1 where id = $2', [
        JSON.stringify(subscriptions),
        organizationId,
      ]);
    const message =
      'event definitions need a subscription at professional level or higher in at least one product family';
    const expected = { status: 403, message, faults: [{ message, code: 'FORBIDDEN', in: '' }] };
    for (const level of ['free', 'starter'] as const) {
      await subscribe(Object.fromEntries(PRODUCT_FAMILIES.map((family) => [family, level])));
      for (const either of [api, other]) {
        for (const run of EVERY_WRITE) expect(refused(await run(either))).toEqual(expected);
        for (const run of EVERY_READ)
          expect(refused(withoutFaults(await run(either)))).toEqual({ ...expected, faults: [] });
      }
    }
    await subscribe({});
    expect(refused(await api.create({ label: 'A' }))).toEqual(expected);
    for (const family of PRODUCT_FAMILIES) {
      for (const level of SUBSCRIPTION_LEVELS.slice(SUBSCRIPTION_LEVELS.indexOf('professional'))) {
        await subscribe({ ...Object.fromEntries(PRODUCT_FAMILIES.map((each) => [each, 'free'])), [family]: level });
        expect(done(await api.create({ label: `${family} ${level}`, ...BARE })).name).toBe(`${family}_${level}`);
        done(await other.read(`${family}_${level}`));
      }
    }
  });

  test('400: an unbound key of a user in several organizations, without a header', async () => {
    const { api, other } = await workspaceWithUnboundKey();
    const message = 'missing required organization information';
    const expected = { status: 400, message, faults: [{ message, code: 'REQUIRED', in: '' }] };
    for (const either of [api, other]) {
      for (const run of EVERY_WRITE) expect(refused(await run(either))).toEqual(expected);
      expect(refused(withoutFaults(await either.read('a')))).toEqual({ ...expected, faults: [] });
    }
  });
});

test('a definition of another organization gets the same answers as a missing one, and is not changed', async () => {
  const mine = await workspaceOf(gateway);
  const theirs = await workspaceOf(gateway);
  const foreign = done(
    await theirs.api.create({ label: 'Theirs', ...BARE, propertyDefinitions: [{ label: 'P', type: 'bool' }] }),
  );
  const number = /^pe(\d+)_/.exec(foreign.fullyQualifiedName)?.[1];
  const missing = {
    theirs: 'absent',
    [foreign.fullyQualifiedName]: `pe${number}_absent`,
    [foreign.id]: crypto.randomUUID(),
  };
  for (const [foreignName, missingName] of Object.entries(missing)) {
    const attempts: readonly [string, string, object?][] = [
      ['GET', ''],
      ['PATCH', '', { label: 'X' }],
      ['DELETE', ''],
      ['POST', '/property', { label: 'X', type: 'bool' }],
      ['PATCH', '/property', { name: 'p', label: 'X' }],
      ['PATCH', '/property/p', { label: 'X' }],
      ['DELETE', '/property/p'],
    ];
    for (const [method, rest, body] of attempts) {
      const options = { key: mine.key, body, headers: { 'X-Request-Id': 'same' } };
      const answers = [
        await gateway.rest(method, `${DEFINITIONS_PATH}/${foreignName}${rest}`, options),
        await gateway.rest(method, `${DEFINITIONS_PATH}/${missingName}${rest}`, options),
      ];
      const [seen, expected] = answers.map(({ status, text, headers }) => ({ status, text, headers: [...headers] }));
      expect(seen).toEqual(expected);
      expect(seen?.status).toBe(404);
    }
    for (const run of [
      (api: Api, name: string) => api.read(name),
      (api: Api, name: string) => api.update(name, { label: 'X' }),
      (api: Api, name: string) => api.delete(name),
      (api: Api, name: string) => api.addProperty(name, { label: 'X', type: 'bool' }),
      (api: Api, name: string) => api.updateProperty(name, 'p', { label: 'X' }),
      (api: Api, name: string) => api.deleteProperty(name, 'p'),
    ]) {
      expect(refused(await run(mine.other, foreignName))).toEqual(refused(await run(mine.other, missingName)));
    }
  }
  expect(done(await mine.api.search({}))).toEqual({ names: [], total: 0 });
  expect(done(await mine.other.search({}))).toEqual({ names: [], total: 0 });
  expect(done(await theirs.api.read('theirs'))).toEqual(foreign);
});

const EVERY_WRITE: readonly ((api: Api) => Promise<Parameters<typeof refused>[0]>)[] = [
  (api) => api.create({ label: 'A' }),
  (api) => api.update('a', { label: 'A' }),
  (api) => api.delete('a'),
  (api) => api.addProperty('a', { label: 'A', type: 'bool' }),
  (api) => api.updateProperty('a', 'a', { label: 'A' }),
  (api) => api.deleteProperty('a', 'a'),
];

const EVERY_READ: readonly ((api: Api) => Promise<Parameters<typeof refused>[0]>)[] = [
  (api) => api.read('a'),
  (api) => api.search({}),
];

/** Removes the list of faults, which the top-level error of a GraphQL query does not have. */
function withoutFaults(outcome: Parameters<typeof refused>[0]): Parameters<typeof refused>[0] {
  return 'refused' in outcome ? { refused: { ...outcome.refused, faults: [] } } : outcome;
}

/** An unbound key of a user in two organizations. */
async function workspaceWithUnboundKey() {
  const first = await workspaceOf(gateway);
  const second = await gateway.createKey({ email: first.email });
  await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [first.keyId]);
  return { ...first, second: second.organizationId };
}
