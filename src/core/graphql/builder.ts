import SchemaBuilder from '@pothos/core';
import ErrorsPlugin from '@pothos/plugin-errors';
import RelayPlugin from '@pothos/plugin-relay';
import ValidationPlugin from '@pothos/plugin-validation';
import './access-plugin.ts';
import './arguments-plugin.ts';
import type { OperationContext } from '../operation.ts';
import { DEFAULT_PAGE_SIZE } from '../postgres/reading/keyset.ts';
import type { Timestamp } from '../text/timestamps.ts';
import { toValidationError } from '../input/validation.ts';

export type GraphQLContext = OperationContext;

/** Marks fields that call other servers, so that no transaction may be open around them. */
export const CALLS_OUT = { callsOut: true };

/** Marks fields that a retry with the same `Idempotency-Key` never runs again. */
export const AT_MOST_ONCE = { isAtMostOnce: true };

/** Marks fields that need separate statements for all their parents together, at most this many. Connections and counts need no mark. */
export const ownStatements = (count: number): { readonly ownStatements: number } => ({ ownStatements: count });

export const OWN_STATEMENT = ownStatements(1);

export interface SchemaTypes {
  Context: GraphQLContext;
  DefaultFieldNullability: false;
  DefaultEdgesNullability: { items: false; list: false };
  DefaultNodeNullability: false;
  /** The context of every connection in addition to its page. */
  Connection: { readonly nodes: readonly unknown[]; total: () => Promise<number> };
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: string; Output: Timestamp };
    Date: { Input: string; Output: string };
    UUID: { Input: string; Output: string };
    DatabaseId: { Input: string | number; Output: string | number };
    URL: { Input: string; Output: string };
    JSON: { Input: unknown; Output: unknown };
    BigInt: { Input: string; Output: number | bigint | string };
  };
}

const PAGE_DESCRIPTIONS = {
  pageInfo: 'Information about this page.',
  edges: 'The items of this page, each with its cursor.',
  node: 'The item.',
  cursor: 'Opaque position of the item in this list and order; stays valid when items are added or deleted.',
};

/** The builder to which every `graphql.ts` adds its types. It has no types itself. */
export const builder = new SchemaBuilder<SchemaTypes>({
  plugins: ['arguments', ErrorsPlugin, 'access', RelayPlugin, ValidationPlugin],
  defaultFieldNullability: false,
  relay: {
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    nodeTypeOptions: { description: 'Anything that has a global id (Relay Global Object Identification).' },
    idFieldOptions: { description: 'Opaque id, unique over all types; `node` finds the object by it.' },
    pageInfoTypeOptions: {
      description: 'Information about a page of a list (Relay Cursor Connections Specification, section 5).',
    },
    hasNextPageFieldOptions: { description: 'Whether there are items after this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether there are items before this page.' },
    startCursorFieldOptions: { description: 'Cursor of the first item; null if the page is empty.' },
    endCursorFieldOptions: { description: 'Cursor of the last item; null if the page is empty.' },
    firstArgOptions: {
      description:
        'Page size, forward; 1 to 100 (events 1 to 1000, entries of sessions 1 to 500). The default does not apply if `last` is given.',
      defaultValue: DEFAULT_PAGE_SIZE,
    },
    afterArgOptions: { description: 'Only items after this cursor.' },
    lastArgOptions: {
      description:
        'Page size, backward; 1 to 100 (events 1 to 1000, entries of sessions 1 to 500). Not together with `first`.',
    },
    beforeArgOptions: { description: 'Only items before this cursor.' },
    edgesFieldOptions: { description: PAGE_DESCRIPTIONS.edges, nullable: { list: false, items: false } },
    pageInfoFieldOptions: { description: PAGE_DESCRIPTIONS.pageInfo },
    nodeFieldOptions: { description: PAGE_DESCRIPTIONS.node, nullable: false },
    cursorFieldOptions: { description: PAGE_DESCRIPTIONS.cursor },
  },
  errors: {
    directResult: true,
    // Invalid input is a member of the result union, like all typed errors. The caller was authenticated before the document was read, so
    // others learn nothing.
    unsafelyHandleInputErrors: true,
    defaultUnionOptions: { name: ({ fieldName }) => `${capitalize(fieldName)}Result` },
  },
  validation: { validationError: ({ issues }) => toValidationError(issues, 'input') },
});

builder.queryType({ description: 'The queries.' });
builder.mutationType({
  description: 'The mutations. Each takes one `input` and returns a union of its payload and its typed errors.',
});

builder.subscriptionType({ description: 'The subscriptions, over server-sent events.' });

/** The direction of a list, for every list that can be sorted. */
export const OrderDirection = builder.enumType('OrderDirection', {
  description: 'The direction of a sorted list.',
  values: { ASC: { description: 'Smallest or earliest first.' }, DESC: { description: 'Largest or latest first.' } },
});

export const capitalize = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
