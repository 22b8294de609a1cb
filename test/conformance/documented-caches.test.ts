import type { Client } from '@urql/core';
import { parse } from 'graphql';
import { beforeAll, expect, test, vi } from 'vitest';
import { startServedGateway } from '../support/fixtures/served-gateway.ts';
import { createSession } from '../support/fixtures/sessions.ts';
import { type Examples, createThreeSessions, generateClientExamples, openExample } from './helpers/client-examples.ts';

/** The caches of docs/clients.md, unchanged, with a gateway. */

const gateway = await startServedGateway();
let folder: string;
let url: string;

const example = <File extends keyof Examples>(file: File) => openExample(folder, file);

beforeAll(async () => {
  url = `${gateway.url}/graphql`;
  folder = await generateClientExamples('caches');
});

interface TitlesAnswer {
  readonly viewer: {
    readonly organization: {
      readonly sessions: {
        readonly edges?: readonly { readonly node: { readonly title: string } }[];
        readonly nodes?: readonly { readonly title: string }[];
      };
    };
  };
}

interface PagedAnswer {
  readonly viewer: {
    readonly organization: {
      readonly sessions: {
        readonly edges: readonly { readonly node: { readonly title: string } }[];
        readonly pageInfo: Readonly<Record<'hasNextPage' | 'endCursor' | 'hasPreviousPage' | 'startCursor', unknown>>;
      };
    };
  };
}

/** Two screens that show different parts of the same objects without an id. */
const PARTS = (id: string | undefined) =>
  [
    [
      `{ session(id: "${id}") { id usage { turns } events(first: 1) { edges { node { id eventData { type } } } } } }`,
      `{ session(id: "${id}") { id usage { toolCalls } events(first: 1) { edges { node { id eventData { source } } } } } }`,
    ],
    [
      `{ session(id: "${id}") { id artifacts(first: 2) { pageInfo { hasNextPage } } } }`,
      `{ session(id: "${id}") { id artifacts(first: 2) { pageInfo { endCursor } totalCount edges { cursor } } } }`,
    ],
    [
      '{ viewer { id organization { id sessions { totalCount } } } }',
      '{ viewer { id organization { id sessions { edges { node { id } } pageInfo { endCursor } } } } }',
    ],
    ['{ viewer { id user { id name } } }', '{ viewer { id organization { id slug } } }'],
    [`{ session(id: "${id}") { id state { current } } }`, `{ session(id: "${id}") { id state { isCancelled } } }`],
    [
      '{ viewer { id organization { id members { nodes { id } } } } }',
      '{ viewer { id organization { id members { totalCount } } } }',
    ],
  ] as const;

test('urql: two screens send two requests, and none to be shown again', async () => {
  const { key, ids } = await createThreeSessions(gateway);
  const client = (await example('urql.ts')).createUrqlClient(url, key) as Client;
  const requests = vi.spyOn(globalThis, 'fetch');
  for (const [one, other] of PARTS(ids[0])) {
    requests.mockClear();
    const read = async (text: string) => (await client.query(parse(text), {}).toPromise()).data as object | undefined;
    const shown = await Promise.all([one, other].map(read));
    expect(requests).toHaveBeenCalledTimes(2);
    expect([await read(one), await read(other), await read(one)]).toEqual([...shown, shown[0]]);
    expect(requests).toHaveBeenCalledTimes(2);
  }
  requests.mockRestore();
});

test('Apollo: parts of the viewer, of a state and of a list that two screens load are kept beside each other: two requests, and none to read them again', async () => {
  const { key, ids } = await createThreeSessions(gateway);
  const apollo = await example('apollo.ts');
  const client = apollo.createApolloClient(url, key, await apollo.possibleTypesOf(url, key));
  const requests = vi.spyOn(globalThis, 'fetch');
  for (const [one, other] of PARTS(ids[0])) {
    requests.mockClear();
    const shown = [one, other].map((text) => client.watchQuery({ query: parse(text) }));
    const watching = shown.map((watched) => watched.subscribe(() => undefined));
    await Promise.all([one, other].map((text) => client.query({ query: parse(text) })));
    await expect
      .poll(() => shown.map((watched) => watched.getCurrentResult().dataState))
      .toEqual(['complete', 'complete']);
    expect(requests).toHaveBeenCalledTimes(2);
    for (const text of [one, other, one]) await client.query({ query: parse(text) });
    expect(requests).toHaveBeenCalledTimes(2);
    for (const each of watching) each.unsubscribe();
  }
  requests.mockRestore();
});

test('Apollo: keeps lists with different filters, orders and pages apart, and shows no list as empty of which nothing was loaded', async () => {
  const { key } = await createThreeSessions(gateway);
  const apollo = await example('apollo.ts');
  const client = apollo.createApolloClient(url, key, await apollo.possibleTypesOf(url, key));
  const titles = async (args: string, selection = 'edges { node { id title } }') => {
    const query = parse(`{ viewer { id organization { id sessions${args} { ${selection} } } } }`);
    const { data } = (await client.query({ query })) as { data: TitlesAnswer };
    const { edges, nodes } = data.viewer.organization.sessions;
    return (edges?.map(({ node }) => node) ?? nodes ?? []).map(({ title }) => title);
  };
  const all = ['Three', 'Two', 'One'];
  expect(await titles('', 'totalCount')).toEqual([]);
  expect(await titles('')).toEqual(all);
  expect(await titles('(filter: { title: "T" })')).toEqual(['Three', 'Two']);
  expect(await titles('(filter: { states: [CANCELLED] })')).toEqual(['One']);
  expect(await titles('(orderBy: { field: CREATED_AT, direction: ASC })')).toEqual(all.toReversed());
  expect(await titles('(first: 1)', 'nodes { id title } pageInfo { endCursor }')).toEqual(['Three']);
  expect(await titles('(last: 1)', 'nodes { id title }')).toEqual(['One']);
  // All of them are shown again from the cache.
  const requests = vi.spyOn(globalThis, 'fetch');
  expect([
    await titles(''),
    await titles('(filter: { title: "T" })'),
    await titles('(first: 1)', 'nodes { id title }'),
  ]).toEqual([all, ['Three', 'Two'], ['Three']]);
  expect(requests).not.toHaveBeenCalled();
  requests.mockRestore();
});

test('Apollo: answers from its cache only what was loaded: other page sizes, directions and cursors send a request, and later pages are added', async () => {
  const { key } = await gateway.createKey();
  for (const title of '1234567') await createSession(gateway, key, { title });
  const apollo = await example('apollo.ts');
  const client = apollo.createApolloClient(url, key, await apollo.possibleTypesOf(url, key));
  const shown: string[][] = [];
  const list = apollo.watchSessions(client, 2, (titles) => shown.push(titles));
  await expect.poll(() => shown.at(-1)).toEqual(['7', '6']);
  const requests = vi.spyOn(globalThis, 'fetch');
  const query = parse(`query ($first: Int, $last: Int, $after: String, $before: String) { viewer { organization { id
    sessions(first: $first, last: $last, after: $after, before: $before) {
      edges { node { id title } } pageInfo { hasNextPage endCursor hasPreviousPage startCursor } } } } }`);
  const page = async (variables: object, fetchPolicy = 'cache-first') => {
    requests.mockClear();
    const { data } = (await client.query({ query, variables, fetchPolicy })) as { data: PagedAnswer };
    const { edges, pageInfo } = data.viewer.organization.sessions;
    return { titles: edges.map(({ node }) => node.title).join(''), requests: requests.mock.calls.length, pageInfo };
  };
  const { pageInfo: all, ...five } = await page({ first: 5 });
  expect([five, all.hasNextPage]).toEqual([{ titles: '76543', requests: 1 }, true]);
  const { pageInfo: end, ...two } = await page({ last: 2 });
  expect([two, end]).toEqual([
    { titles: '21', requests: 1 },
    expect.objectContaining({ hasNextPage: false, hasPreviousPage: true }),
  ]);
  expect(await page({ last: 2, before: end.startCursor })).toMatchObject({ titles: '43', requests: 1 });
  const { pageInfo: head } = await page({ first: 2 });
  expect(await page({ first: 2, after: head.endCursor })).toMatchObject({ titles: '54', requests: 1 });
  // A later page after another cursor is a page by itself.
  expect(await page({ first: 2, after: all.endCursor })).toMatchObject({ titles: '21', requests: 1 });
  expect(await page({ first: 5 })).toMatchObject({ titles: '76543', requests: 0 });
  expect(await page({ first: 2, after: head.endCursor })).toMatchObject({ titles: '54', requests: 0 });
  expect(await page({ last: 2 })).toMatchObject({
    titles: '4321',
    requests: 0,
    pageInfo: { hasNextPage: false, hasPreviousPage: true },
  });
  // Another selection may lack fields, so its pages are not added to this list.
  expect([shown.at(-1), await list.loadMore()]).toEqual([['7', '6'], true]);
  await expect.poll(() => shown.at(-1)).toEqual(['7', '6', '5', '4']);
  // The page of the head has changed: what was loaded after the former one is not shown again.
  await createSession(gateway, key, { title: '8' });
  expect(await page({ first: 2 }, 'network-only')).toMatchObject({ titles: '87', requests: 1 });
  await expect.poll(() => shown.at(-1)).toEqual(['8', '7']);
  expect(await list.loadMore()).toBe(true);
  await expect.poll(() => shown.at(-1)).toEqual(['8', '7', '6', '5']);
  list.stop();
  requests.mockRestore();
});
