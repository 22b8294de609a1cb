import {
  type FieldFunctionOptions,
  type FieldMergeFunction,
  type FieldPolicy,
  type FieldReadFunction,
  InMemoryCache,
  type TypePolicies,
} from '@apollo/client/cache';
import { relayStylePagination } from '@apollo/client/utilities';
import type { FieldNode } from 'graphql';
import { LISTS, TYPES_WITHOUT_ID } from './cache-policies.ts';

/** A cache that keeps lists with different filters apart, and keeps what several screens have loaded of an object. */
export function createApolloCache(possibleTypes: Record<string, string[]>): InMemoryCache {
  // Without this, a query replaces what another one has loaded of an object without an id, and both send their requests again.
  const parts = TYPES_WITHOUT_ID.map((name) => [name, { merge: true }]);
  const lists = Object.entries(LISTS).map(([name, fields]) => [
    name,
    { fields: Object.fromEntries(Object.entries(fields).map(([field, keyArgs]) => [field, pages([...keyArgs])])) },
  ]);
  const typePolicies = Object.fromEntries([...parts, ...lists]) as TypePolicies;
  return new InMemoryCache({ possibleTypes, typePolicies });
}

interface Page {
  readonly edges?: readonly unknown[];
  readonly pageInfo?: object;
}

/** Adds later pages to a list that is selected by its `edges`. One that is selected by its `nodes` is kept page by page. */
function pages(keyArgs: string[]): FieldPolicy {
  const added = relayStylePagination(keyArgs);
  // The function has both.
  const { read, merge } = added as { read: FieldReadFunction; merge: FieldMergeFunction };
  return {
    keyArgs: (args, { field }) => (selects(field, 'nodes') ? Object.keys(args ?? {}) : keyArgs),
    // A list of which only another part was loaded, such as `totalCount`, is not an empty one.
    read: (existing: Page | null | undefined, options: FieldFunctionOptions) =>
      existing?.edges ? (read(existing, options) as Page) : existing,
    merge(existing: Page | null | undefined, incoming: Page | null, options: FieldFunctionOptions) {
      if (!incoming?.edges) return incoming && merged(existing, incoming);
      const known = existing && { edges: [], pageInfo: {}, ...existing };
      return merge(known, incoming, options as Parameters<FieldMergeFunction>[2]) as Page;
    },
  };
}

/** The information about the pages of a list is that of its edges. */
function merged(existing: Page | null | undefined, incoming: Page): Page {
  const pageInfo = existing?.edges && { pageInfo: { ...incoming.pageInfo, ...existing.pageInfo } };
  return { ...existing, ...incoming, ...pageInfo };
}

function selects(field: FieldNode | null, name: string): boolean {
  return field?.selectionSet?.selections.some((one) => one.kind === 'Field' && one.name.value === name) ?? false;
}
