import SchemaBuilder from '@pothos/core';
import DataloaderPlugin from '@pothos/plugin-dataloader';
import ErrorsPlugin from '@pothos/plugin-errors';
import RelayPlugin from '@pothos/plugin-relay';
import ValidationPlugin from '@pothos/plugin-validation';
import './access-plugin.ts';
import type { DomainError } from '../errors.ts';
import type { OperationContext } from '../operation.ts';
import { DEFAULT_PAGE_SIZE } from '../postgres/keyset.ts';
import type { Timestamp } from '../text/timestamps.ts';
import { toValidationError } from '../validation.ts';

/** What resolvers are given. */
export interface GraphQLContext extends OperationContext {
  /** Called when the operation of a mutation has succeeded, since its typed errors are data, too. */
  readonly onSuccess?: () => void;
  /** Why the mutation is refused, whatever its input is. */
  readonly refusal?: DomainError;
}

/** Marks fields that ask other servers, so that no transaction may be open around them. */
export const CALLS_OUT = { callsOut: true };

/** Marks fields that are read by a statement of their own, one for all their parents; connections and their counts are without being marked. */
export const OWN_STATEMENT = { ownStatement: true };

export interface SchemaTypes {
  Context: GraphQLContext;
  DefaultFieldNullability: false;
  DefaultEdgesNullability: { items: false; list: false };
  DefaultNodeNullability: false;
  /** What every connection has beside its page. */
  Connection: { total: () => Promise<number> };
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: string; Output: Timestamp };
    Date: { Input: string; Output: string };
    UUID: { Input: string; Output: string };
    URL: { Input: string; Output: string };
    JSON: { Input: unknown; Output: unknown };
    BigInt: { Input: string; Output: number | bigint | string };
  };
}

const PAGE_DESCRIPTIONS = {
  pageInfo: 'Where this page lies in the list.',
  edges: 'The rows of this page, each with its cursor.',
  nodes: 'The rows of this page without their cursors.',
  node: 'The row.',
  cursor: 'Opaque position of the row in this list and order; stays valid while rows come and go.',
};

/** The one builder that every noun's `graphql.ts` adds its types to. It holds no types itself. */
export const builder = new SchemaBuilder<SchemaTypes>({
  plugins: [ErrorsPlugin, 'access', RelayPlugin, DataloaderPlugin, ValidationPlugin],
  defaultFieldNullability: false,
  relay: {
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    nodesOnConnection: { description: PAGE_DESCRIPTIONS.nodes },
    nodeTypeOptions: { description: 'Anything that has a global id (Relay Global Object Identification).' },
    idFieldOptions: { description: 'Opaque id, unique over all types; `node` finds the object by it.' },
    pageInfoTypeOptions: {
      description: 'Where a page lies in its list (Relay Cursor Connections Specification, section 5).',
    },
    hasNextPageFieldOptions: { description: 'Whether rows follow this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether rows lie before this page.' },
    startCursorFieldOptions: { description: 'Cursor of the first row; null when the page is empty.' },
    endCursorFieldOptions: { description: 'Cursor of the last row; null when the page is empty.' },
    firstArgOptions: {
      description: 'Page size, forward; 1 to 100 (events 1 to 1000). The default does not count beside `last`.',
      defaultValue: DEFAULT_PAGE_SIZE,
    },
    afterArgOptions: { description: 'Only rows behind this cursor.' },
    lastArgOptions: { description: 'Page size, backward; 1 to 100 (events 1 to 1000). Not together with `first`.' },
    beforeArgOptions: { description: 'Only rows before this cursor.' },
    edgesFieldOptions: { description: PAGE_DESCRIPTIONS.edges, nullable: { list: false, items: false } },
    pageInfoFieldOptions: { description: PAGE_DESCRIPTIONS.pageInfo },
    nodeFieldOptions: { description: PAGE_DESCRIPTIONS.node, nullable: false },
    cursorFieldOptions: { description: PAGE_DESCRIPTIONS.cursor },
  },
  errors: {
    directResult: true,
    // Input is checked on the way into the resolver; its faults are members of the result like every other typed error. Who calls has been
    // settled before the document was read, so strangers learn nothing.
    unsafelyHandleInputErrors: true,
    defaultUnionOptions: { name: ({ fieldName }) => `${capitalize(fieldName)}Result` },
  },
  validation: { validationError: ({ issues }) => toValidationError(issues, 'input') },
});

builder.queryType({ description: 'What can be read.' });
builder.mutationType({
  description:
    'What can be changed. Each mutation takes one `input` and answers a union of its payload and the errors it can raise.',
});

builder.subscriptionType({ description: 'What can be followed, over server-sent events.' });

/** Which way a list runs; every list that can be sorted takes it. */
export const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Which way a list runs.',
  values: { ASC: { description: 'Smallest or earliest first.' }, DESC: { description: 'Largest or latest first.' } },
});

export function capitalize(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
