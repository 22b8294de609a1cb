import {
  type FieldFunctionOptions,
  type FieldPolicy,
  InMemoryCache,
  type Reference,
  type TypePolicies,
} from '@apollo/client/cache';
import { type FieldNode, print } from 'graphql';
import { LISTS, TYPES_WITHOUT_ID } from './cache-policies.ts';

/** A cache that answers only pages that were loaded, and keeps what several screens have loaded of an object. */
export function createApolloCache(possibleTypes: Record<string, string[]>): InMemoryCache {
  // Without this, a query replaces what another one has loaded of an object without an id, and both send their requests again.
  const parts = TYPES_WITHOUT_ID.map((name) => [name, { merge: true }]);
  const lists = Object.entries(LISTS).map(([name, fields]) => [
    name,
    { fields: Object.fromEntries(Object.keys(fields).map((field) => [field, PAGES])) },
  ]);
  return new InMemoryCache({ possibleTypes, typePolicies: Object.fromEntries([...parts, ...lists]) as TypePolicies });
}

interface Page {
  readonly edges?: readonly { readonly node?: Reference }[];
  readonly pageInfo?: Readonly<Record<string, unknown>>;
  /** The selections that have loaded the page: another one can lack fields. */
  readonly selections?: Readonly<Record<string, true>>;
}

/**
 * Each page is kept by its arguments. One without a cursor is read together with the pages of the same size and selection that were loaded
 * after it, if it is selected by its `edges`.
 */
const PAGES: FieldPolicy<Page | null, Page | null, Page | null> = {
  // Without it, Apollo keeps all pages at one place.
  keyArgs: (args) => Object.keys(args ?? {}),
  merge(existing, incoming, { field }) {
    if (!incoming) return incoming;
    const selections = { ...existing?.selections, [selectionOf(field)]: true as const };
    return { ...existing, ...incoming, selections };
  },
  read(first, options) {
    if (!first?.edges) return first;
    const [edges, pageInfo] = [[...first.edges], { ...first.pageInfo }];
    for (const next of pagesAfter(first, options)) {
      if (options.args?.['last'] == null) edges.push(...(next.edges ?? []));
      else edges.unshift(...(next.edges ?? []));
      Object.assign(pageInfo, next.pageInfo);
    }
    return { ...first, ...(first.pageInfo && { pageInfo }), edges: edges.filter((edge) => isKnown(edge, options)) };
  },
};

/** The pages that continue this one, with what is new of their information. */
function* pagesAfter(first: Page, { args, field, readField }: FieldFunctionOptions): Generator<Page> {
  const [cursor, has, end] =
    args?.['last'] == null ? ['after', 'hasNextPage', 'endCursor'] : ['before', 'hasPreviousPage', 'startCursor'];
  if (!field || args?.['after'] != null || args?.['before'] != null) return;
  for (let page: Page | null | undefined = first; page?.pageInfo?.[end ?? ''];) {
    page = readField<Page>({ fieldName: field.name.value, args: { ...args, [cursor]: page.pageInfo[end] } });
    if (!page?.edges || !page.selections?.[selectionOf(field)]) return;
    yield { edges: page.edges, pageInfo: { [has]: page.pageInfo?.[has], [end]: page.pageInfo?.[end] } };
  }
}

const printed = new WeakMap<FieldNode, string>();

function selectionOf(field: FieldNode | null): string {
  const known = field && printed.get(field);
  if (!field || known) return known ?? '';
  const text = field.selectionSet ? print(field.selectionSet) : '';
  printed.set(field, text);
  return text;
}

/** Objects that were deleted in the cache are in no list. */
function isKnown(edge: { readonly node?: Reference }, { canRead, readField }: FieldFunctionOptions): boolean {
  const node = readField<Reference>('node', edge as Reference);
  return node === undefined || canRead(node);
}

/** The possible types of interfaces and unions, without which Apollo ignores `... on Error`. Fetch them once, when you build. */
export async function possibleTypesOf(url: string, key: string): Promise<Record<string, string[]>> {
  const body = JSON.stringify({ query: '{ __schema { types { name possibleTypes { name } } } }' });
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const answer = (await (await fetch(url, { method: 'POST', headers, body })).json()) as {
    data: { __schema: { types: { name: string; possibleTypes: { name: string }[] | null }[] } };
  };
  const abstract = answer.data.__schema.types.filter(({ possibleTypes }) => possibleTypes);
  return Object.fromEntries(abstract.map((type) => [type.name, (type.possibleTypes ?? []).map(({ name }) => name)]));
}
