import { describe, expect, test } from 'vitest';
import { type TestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { CHANGE, LEAVE, REMOVE } from '../../support/fixtures/organizations.ts';
import { startSecondGateway } from '../../support/fixtures/second-gateway.ts';
import { sampledRuns } from '../../support/sample.ts';

const gateway = useTestGateway();

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
    ['demote each other', CHANGE, (userId: string) => ({ userId, role: 'MEMBER' }), /Error$|^UNAUTHENTICATED$/],
    ['remove each other', REMOVE, (userId: string) => ({ userId }), /Error$|^UNAUTHENTICATED$/],
    ['leave', LEAVE, () => ({}), /^ConflictError$/],
  ])(
    'of two administrators who %s at the same time on two gateways, one remains',
    async (_, query, inputFor, refusal) => {
      const peer = await startSecondGateway(gateway);
      try {
        for (let round = sampledRuns(10, 2); round > 0; round -= 1) {
          const { one, two, admins } = await twoAdministrators();
          const outcomes = await Promise.all([
            send(gateway, one.key, query, inputFor(two.userId)),
            send(peer, two.key, query, inputFor(one.userId)),
          ]);
          expect(outcomes).toEqual(
            expect.arrayContaining([expect.stringMatching(refusal), expect.stringMatching(/Payload$/)]),
          );
          expect(await admins()).toHaveLength(1);
        }
      } finally {
        await peer.close();
      }
    },
  );

  test('of two administrators who leave and demote each other at the same time on two gateways, one remains', async () => {
    const peer = await startSecondGateway(gateway);
    try {
      for (let round = sampledRuns(10, 2); round > 0; round -= 1) {
        const { one, two, admins } = await twoAdministrators();
        await Promise.all([
          send(gateway, one.key, LEAVE, {}),
          send(peer, two.key, CHANGE, { userId: one.userId, role: 'MEMBER' }),
          send(peer, two.key, LEAVE, {}),
          send(gateway, one.key, CHANGE, { userId: two.userId, role: 'MEMBER' }),
        ]);
        expect(await admins()).toHaveLength(1);
      }
    } finally {
      await peer.close();
    }
  });
});

async function twoAdministrators() {
  const one = await gateway.createKey();
  const two = await gateway.createKey({ organization: one.organization, role: 'admin' });
  const admins = () =>
    gateway.dependencies.sql.query(`select 1 from membership where organization_id = $1 and role = 'admin'`, [
      one.organizationId,
    ]);
  return { one, two, admins };
}

/** Sends a mutation with one field. @returns the type of its result, or the code of the error if it has none. */
async function send(to: Pick<TestGateway, 'fetch'>, key: string, query: string, input: object): Promise<string> {
  const response = await to.fetch(
    new Request('http://gateway/graphql', {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ query, variables: { input } }),
    }),
  );
  const { data, errors } = (await response.json()) as {
    data?: Record<string, { __typename: string } | null> | null;
    errors?: { extensions: { code: string } }[];
  };
  return Object.values(data ?? {})[0]?.__typename ?? errors?.[0]?.extensions.code ?? '';
}
