import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { CHANGE, REMOVE, mutateOrganization } from '../../support/fixtures/organizations.ts';
import { startSecondGateway } from '../../support/fixtures/second-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());
const mutate = (key: string, query: string, input: object) => mutateOrganization(gateway, key, query, input);

describe('concurrent requests', () => {
  test('19 creations with one name on two gateways all succeed, with different slugs; of 19 with one given slug, one succeeds', async () => {
    const { key } = await gateway.createKey();
    const other = await gateway.createKey();
    const peer = await startSecondGateway(gateway);
    const all = (body: object, caller = key) =>
      Promise.all(
        Array.from({ length: 19 }, async (_, index) => {
          const request = new Request('http://gateway/v1/organizations', {
            method: 'POST',
            headers: { Authorization: `Bearer ${caller}`, 'Content-Type': 'application/json' },
            body: JSON.stringify(body),
          });
          const response = await (index % 2 ? peer.fetch(request) : gateway.fetch(request));
          return [response.status, ((await response.json()) as { slug?: string }).slug] as const;
        }),
      );
    try {
      const created = await all({ name: 'Racing' });
      expect(created.map(([status]) => status)).toEqual(Array(19).fill(201));
      expect(created.map(([, slug = '']) => slug).toSorted()).toEqual(
        ['racing', ...Array.from({ length: 18 }, (_, index) => `racing-${index + 2}`)].toSorted(),
      );
      const given = await all({ name: 'Given', slug: 'given-race' }, other.key);
      expect(given.map(([status]) => String(status)).toSorted()).toEqual(['201', ...Array<string>(18).fill('409')]);
    } finally {
      await peer.close();
    }
  });

  test.each([
    ['demote', CHANGE, { role: 'MEMBER' }],
    ['remove', REMOVE, {}],
  ])('two admins who %s each other at the same time: one admin remains', async (_, query, input) => {
    for (let round = 0; round < 10; round += 1) {
      const one = await gateway.createKey();
      const two = await gateway.createKey({ organization: one.organization, role: 'admin' });
      await Promise.all([
        mutate(one.key, query, { userId: two.userId, ...input }),
        mutate(two.key, query, { userId: one.userId, ...input }),
      ]);
      const admins = await gateway.dependencies.sql.query(
        `select 1 from membership where organization_id = $1 and role = 'admin'`,
        [one.organizationId],
      );
      expect(admins).toHaveLength(1);
    }
  });
});
