import { randomUUID } from 'node:crypto';
import { graphql } from 'graphql';
import { describe, expect, test } from 'vitest';
import { DomainError } from '../../../src/core/errors.ts';
import { type Actor, SCOPES } from '../../../src/core/access.ts';
import { operationContext } from '../../../src/gateway/contexts.ts';
import { schema } from '../../../src/gateway/schema.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';

const gateway = useTestGateway();

describe('viewer', () => {
  test('returns the caller with key, scopes, role and organization', async () => {
    const { organization } = await gateway.createKey();
    const { key, keyId, userId, organizationId, email } = await gateway.createKey({
      organization,
      role: 'member',
      scopes: ['social', 'users.delete'],
    });
    const query =
      '{ viewer { user { databaseId email name } apiKey { databaseId scopes preview } scopes role organization { databaseId name slug logoUrl } } }';
    expect(await gateway.graphql(key, query)).toMatchObject({
      data: {
        viewer: {
          user: { databaseId: userId, email, name: null },
          apiKey: {
            databaseId: keyId,
            scopes: ['SOCIAL', 'USERS_DELETE'],
            preview: `${key.slice(0, 8)}…${key.slice(-2)}`,
          },
          scopes: ['SOCIAL', 'USERS_DELETE'],
          role: 'MEMBER',
          organization: { databaseId: organizationId, name: organization, slug: organization, logoUrl: null },
        },
      },
    });
  });

  test('organizations lists those of the user by creation time and can be paged in both directions; a bound key sees only its organization', async () => {
    const first = await gateway.createKey();
    await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [first.keyId]);
    const slugs = [first.organization];
    for (let index = 0; index < 4; index += 1)
      slugs.push((await gateway.createKey({ email: first.email })).organization);
    type Page = {
      viewer: {
        organizations: {
          nodes: { slug: string }[];
          pageInfo: { endCursor: string; startCursor: string; hasNextPage: boolean; hasPreviousPage: boolean };
        };
      };
    };
    const query = `query($first: Int, $after: String, $last: Int, $before: String) { viewer { organizations(first: $first, after: $after, last: $last, before: $before) {
      nodes { slug } pageInfo { endCursor startCursor hasNextPage hasPreviousPage } } } }`;
    const readAllPages = async (backward: boolean) => {
      const seen: string[] = [];
      for (let cursor: string | undefined; ;) {
        const { data } = await gateway.graphql<Page>(
          first.key,
          query,
          backward ? { last: 2, before: cursor } : { first: 2, after: cursor },
        );
        const { nodes = [], pageInfo } = data?.viewer.organizations ?? {};
        if (backward) seen.unshift(...nodes.map(({ slug }) => slug));
        else seen.push(...nodes.map(({ slug }) => slug));
        cursor = backward ? pageInfo?.startCursor : pageInfo?.endCursor;
        if (!(backward ? pageInfo?.hasPreviousPage : pageInfo?.hasNextPage)) return seen;
      }
    };
    expect(await readAllPages(false)).toEqual(slugs);
    expect(await readAllPages(true)).toEqual(slugs);
    const bound = await gateway.createKey({ email: first.email, organization: slugs[1] });
    expect((await gateway.graphql<Page>(bound.key, query)).data?.viewer.organizations.nodes).toEqual([
      { slug: slugs[1] },
    ]);
    for (const [variables, message] of [
      [{ first: 0 }, 'first: must be from 1 to 100'],
      [{ first: 101 }, 'first: must be from 1 to 100'],
      [{ first: 1, last: 1 }, 'last: must not be given together with first'],
      [{ after: 'x' }, 'after: is not a cursor of this list and order'],
    ] as const) {
      expect((await gateway.graphql(first.key, query, variables)).errors?.map((error) => error.message)).toEqual([
        message,
      ]);
    }
  });

  test('lists of an organization other than the acting one are errors, never rows of the acting one', async () => {
    const first = await gateway.createKey();
    await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [first.keyId]);
    const second = await gateway.createKey({ email: first.email });
    const anyKey = { id: expect.any(String) as string };
    const query = '{ viewer { organizations { nodes { slug apiKeys { nodes { id } } } } } }';
    const answer = await gateway.graphql(first.key, query, {}, { 'X-Organization-Id': second.organization });
    expect(answer).toMatchObject({
      data: {
        viewer: {
          organizations: {
            nodes: [
              { slug: first.organization, apiKeys: null },
              // The key of the organization, and the unbound one of its member.
              { slug: second.organization, apiKeys: { nodes: [anyKey, anyKey] } },
            ],
          },
        },
      },
      errors: [
        {
          path: ['viewer', 'organizations', 'nodes', 0, 'apiKeys'],
          message:
            'a request acts in one organization: send the header X-Organization-Id with the id or slug of the organization that you want',
          extensions: { code: 'INVALID_INPUT' },
        },
      ],
    });
    // Without the header, the request acts in no organization, so all lists are errors that name the header.
    const none = await gateway.graphql(first.key, query);
    expect(none.data).toMatchObject({ viewer: { organizations: { nodes: [{ apiKeys: null }, { apiKeys: null }] } } });
    expect(none.errors?.map(({ message }) => message)).toEqual(
      Array(2).fill(answer.errors?.map(({ message }) => message)[0]),
    );
  });
});

test('a user who is removed or deleted while the request is read gets FORBIDDEN or UNAUTHENTICATED, not an internal error', async () => {
  const { keyId, userId, organizationId } = await gateway.createKey();
  const known = { keyId, userId, scopes: new Set(SCOPES), isBound: true };
  const organization = { id: organizationId, number: 1, role: 'admin', subscriptions: {} } as const;
  const ask = async (actor: Actor, source: string) => {
    const contextValue = operationContext(gateway.dependencies, actor, { requestId: 'r1' });
    const { errors = [] } = await graphql({ schema, source, contextValue });
    return errors.map(({ originalError }) =>
      originalError instanceof DomainError ? originalError.code : originalError,
    );
  };
  await gateway.dependencies.sql.query('delete from membership where user_id = $1', [userId]);
  const viewer = '{ viewer { organization { name createdAt } } }';
  expect(await ask({ ...known, organization }, viewer)).toEqual(['FORBIDDEN']);
  const gone = { ...known, userId: randomUUID(), keyId: randomUUID(), organization };
  expect(await ask(gone, '{ viewer { user { name } } }')).toEqual(['UNAUTHENTICATED']);
  expect(await ask(gone, '{ viewer { apiKey { name } } }')).toEqual(['UNAUTHENTICATED']);
});
