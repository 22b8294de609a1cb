import { describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { send } from '../../support/fixtures/second-gateway.ts';

const gateway = useTestGateway();

/** The documented removals (custom event definition API, section 9). */
const REMOVED = [
  ['/table-storage/v2', 'table-storage API v2', '2024-12-16', 'table-storage API v3'],
  ['/site-performance', 'site performance API', '2024-04-09', 'the analytics API'],
  ['/ecommerce-bridge', 'ecommerce bridge', '2023-02-28', 'CRM v3 APIs, calls authenticated by an app'],
  ['/accounting-extension', 'accounting extension', '2023-02-28', 'CRM v3 APIs, calls authenticated by an app'],
  ['/marketing-calendar', 'marketing calendar', '2023-08-31', null],
  ['/contacts/v1/lists', 'contact lists v1', '2026-04-30', 'the latest lists API'],
] as const;

describe('removed APIs', () => {
  test.each(REMOVED)(
    '%s: any method and path below is 410, with or without a key; the message names the date and the replacement',
    async (prefix, name, removedOn, replacement) => {
      const { key } = await gateway.createKey();
      const error = `${name} was removed on ${removedOn}; ${replacement === null ? 'it has no replacement' : `use ${replacement} instead`}`;
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        for (const path of [prefix, `${prefix}/`, `${prefix}/a/b?c=d`]) {
          for (const options of [{}, { key }, { key: 'wrong' }])
            expect(await send(gateway, method, path, options)).toMatchObject({ status: 410, body: { error } });
        }
      }
      expect(await send(gateway, 'HEAD', prefix)).toMatchObject({ status: 410, text: '' });
    },
  );

  test.each(REMOVED)(
    '%s: similar paths are 404, and so is the path itself before the date of its removal',
    async (prefix, _, removedOn) => {
      const { key } = await gateway.createKey();
      for (const path of [`${prefix}x`, `/x${prefix}`, prefix.toUpperCase()])
        expect((await send(gateway, 'GET', path, { key })).status).toBe(404);
      gateway.setClock(new Date(Date.parse(removedOn) - 1));
      const before = await send(gateway, 'GET', prefix, { key });
      gateway.setClock(new Date(removedOn));
      const after = await send(gateway, 'GET', prefix);
      gateway.setClock(undefined);
      expect([before.status, after.status]).toEqual([404, 410]);
    },
  );
});

test('GraphQL lists the removed and the deprecated APIs', async () => {
  const { key } = await gateway.createKey();
  const query = '{ apiLifecycle { removed { name pathPrefix removedOn replacement } deprecated { name paths } } }';
  expect((await gateway.graphql(key, query)).data).toEqual({
    apiLifecycle: {
      removed: REMOVED.map(([pathPrefix, name, removedOn, replacement]) => ({
        name,
        pathPrefix,
        removedOn,
        replacement,
      })),
      deprecated: [
        {
          name: 'social publishing API',
          paths: [
            'GET /broadcast/v1/channels/setting/publish/current',
            'GET /broadcast/v1/broadcasts',
            'GET /broadcast/v1/broadcasts/:broadcast_guid',
            'POST /broadcast/v1/broadcasts',
            'DELETE /broadcast/v1/broadcasts/:broadcast_guid',
          ],
        },
      ],
    },
  });
});
