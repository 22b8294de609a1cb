import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import {
  type CreateDefinitionMutation,
  CreateDefinitionDocument,
  FollowSessionDocument,
  PageOfDefinitionsDocument,
  ReadDefinitionDocument,
} from '../../generated/graphql/scenario.ts';

/** The functions that every client has. They reject or end with the client's own error for a top-level error. */
export interface Client {
  run<Data, Variables>(document: TypedDocumentNode<Data, Variables>, variables: Variables): Promise<Data>;
  /** Resolves at the end of the stream. */
  follow?<Data, Variables>(
    document: TypedDocumentNode<Data, Variables>,
    variables: Variables,
    next: (data: Data) => void,
  ): Promise<void>;
}

/** create → read → page → error union, and a subscription if the client supports it. */
export async function scenario(client: Client, word: string, sessionId: string) {
  const create = async (label: string, name?: string) =>
    (await client.run(CreateDefinitionDocument, { input: { label, name, includeDefaultProperties: false } }))
      .createEventDefinition;
  const ids: string[] = [];
  for (const number of [1, 2, 3, 4, 5]) ids.push(created(await create(`${word} ${number}`)).id);

  const { node } = await client.run(ReadDefinitionDocument, { id: ids[2] ?? '' });
  const read = node?.__typename === 'EventDefinition' ? node.label : undefined;

  const pages: string[][] = [];
  let total: number | undefined;
  for (let after: string | null | undefined; ;) {
    const { viewer } = await client.run(PageOfDefinitionsDocument, { first: 2, after, search: word });
    const page = viewer.organization?.eventDefinitions;
    if (!page) break;
    total = page.totalCount;
    pages.push(page.edges.map(({ node: { label } }) => label));
    if (!page.pageInfo.hasNextPage) break;
    after = page.pageInfo.endCursor;
  }

  const taken = await create(`${word} again`, `${word.toLowerCase()}_1`);
  const wrong = await create('');
  const topLevel = await client.run(PageOfDefinitionsDocument, { first: 101, search: word }).then(
    () => 'no error',
    (error: unknown) => String(error),
  );

  const followed: number[] = [];
  await client.follow?.(FollowSessionDocument, { sessionId }, ({ sessionEvents }) => {
    followed.push(Number(sessionEvents.databaseId));
  });
  return { ids, read, total, pages, taken, wrong, topLevel, followed: client.follow && followed };
}

function created(result: CreateDefinitionMutation['createEventDefinition']) {
  if (result?.__typename === 'CreateEventDefinitionPayload' && result.eventDefinition) return result.eventDefinition;
  throw new Error(result && 'code' in result ? `${result.code}: ${result.message}` : 'there is no answer');
}

/** Wrong uses, which the types must refuse. Only compiled, never called. */
export async function misuse(client: Client) {
  // @ts-expect-error a label is required
  await client.run(CreateDefinitionDocument, { input: {} });
  // @ts-expect-error `Int!` does not accept text
  await client.run(PageOfDefinitionsDocument, { first: '2', search: '' });
  const { createEventDefinition } = await client.run(CreateDefinitionDocument, { input: { label: 'x' } });
  // @ts-expect-error a result may be an error, which has no definition
  const definition = createEventDefinition?.eventDefinition;
  // @ts-expect-error `node` may be null
  const id = (await client.run(ReadDefinitionDocument, { id: '' })).node.id;
  return { definition, id };
}
