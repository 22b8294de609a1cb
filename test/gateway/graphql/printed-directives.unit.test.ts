import {
  type ConstDirectiveNode,
  type FieldDefinitionNode,
  type GraphQLObjectType,
  getNamedType,
  isCompositeType,
  isObjectType,
  parse,
  valueFromASTUntyped,
  visit,
} from 'graphql';
import { expect, test } from 'vitest';
import { type Actor, type Scope, SCOPES, requireAccess } from '../../../src/core/access.ts';
import { ForbiddenError } from '../../../src/core/errors.ts';
import { accessOf } from '../../../src/core/graphql/refusable.ts';
import { costOf, statementCostOf } from '../../../src/gateway/graphql/document-cost.ts';
import { contracts } from '../../../src/gateway/print-contracts.ts';
import { schema } from '../../../src/gateway/schema.ts';

/** The directives of the published schema, compared with what refuses and charges. */

interface Printed {
  readonly coordinate: string;
  readonly type: GraphQLObjectType;
  readonly node: FieldDefinitionNode;
}

const printed: Printed[] = [];
const keyed: string[] = [];
visit(parse(contracts['schema.graphql']()), {
  ObjectTypeDefinition({ name, directives = [], fields = [] }) {
    const type = schema.getType(name.value);
    if (!isObjectType(type)) throw new Error(name.value);
    if (directives.some((each) => each.name.value === 'key')) keyed.push(type.name);
    for (const node of fields) printed.push({ coordinate: `${type.name}.${node.name.value}`, type, node });
  },
});

const argumentsOf = ({ directives = [] }: FieldDefinitionNode, name: string): Record<string, unknown> | undefined => {
  const found: ConstDirectiveNode | undefined = directives.find((each) => each.name.value === name);
  return (
    found &&
    Object.fromEntries((found.arguments ?? []).map((each) => [each.name.value, valueFromASTUntyped(each.value)]))
  );
};
function definitionOf({ type, node, coordinate }: Printed) {
  const field = type.getFields()[node.name.value];
  if (!field) throw new Error(coordinate);
  return field;
}

const actorWith = (scopes: readonly string[]): Actor => ({
  keyId: 'k',
  userId: 'u',
  scopes: new Set(scopes as readonly Scope[]),
  organization: { id: 'o', number: 1, role: 'admin', subscriptions: { marketing: 'enterprise' } },
});

/** Whether a caller is refused because of the scopes. */
function lacksScopes(scopes: readonly string[], field: Printed): boolean {
  const access = accessOf(definitionOf(field));
  try {
    if (access) requireAccess(actorWith(scopes), access);
    return false;
  } catch (error) {
    if (error instanceof ForbiddenError) return (error.missing?.scopes.length ?? 0) > 0;
    throw error;
  }
}

test('@requiresScopes: each list suffices, and no scope less', () => {
  const faults = printed.flatMap((field) => {
    const lists = argumentsOf(field.node, 'requiresScopes')?.['scopes'] as readonly (readonly string[])[] | undefined;
    if (!lists) return lacksScopes([], field) ? [`${field.coordinate} has none`] : [];
    // Of one list each scope is needed, of several one of them.
    const needed = lists.length === 1 ? lists.flat().map((scope) => [scope]) : [lists.flat()];
    const isRefused = lists.some((list) => lacksScopes(list, field));
    const isOpen = needed.some(
      (without) =>
        !lacksScopes(
          SCOPES.filter((each) => !without.includes(each)),
          field,
        ),
    );
    return isRefused || isOpen ? [field.coordinate] : [];
  });
  expect(faults).toEqual([]);
  expect(printed.filter(({ node }) => argumentsOf(node, 'requiresScopes')).length).toBeGreaterThan(100);
});

/** A document that selects the field of an object of its type. */
function documentOf({ type, node }: Printed, inner: string) {
  const selection = inner === '' ? node.name.value : `${node.name.value} { ${inner} }`;
  // The cost does not ask whether a fragment can apply.
  return parse(`{ ... on ${type.name} { ${selection} } }`);
}
const hasFields = (field: Printed) => isCompositeType(getNamedType(definitionOf(field).type));

test('@cost: what the field costs by itself', () => {
  for (const field of printed) {
    const weight = Number(argumentsOf(field.node, 'cost')?.['weight'] ?? 0);
    const document = documentOf(field, hasFields(field) ? '__typename' : '');
    expect([field.coordinate, statementCostOf({ schema, document })]).toEqual([field.coordinate, weight]);
  }
});

test('@listSize: how many items the cost counts', () => {
  const faults = printed.flatMap((field) => {
    const size = argumentsOf(field.node, 'listSize');
    const [itemsIn] = (size?.['sizedFields'] as string[] | undefined) ?? [];
    // The items of a part belong to its connection, which counts itself.
    const isPart = field.type.name.endsWith('Connection') && /^(?:edges|nodes)$/.test(field.node.name.value);
    if (!hasFields(field) || isPart) return [];
    const document = documentOf(field, itemsIn === undefined ? '__typename' : `${itemsIn} { __typename }`);
    const objects = costOf({ schema, document }) - statementCostOf({ schema, document });
    const assumed = Number(size?.['assumedSize'] ?? 1);
    return objects === (itemsIn === undefined ? assumed : assumed + 1) ? [] : [`${field.coordinate}: ${objects}`];
  });
  expect(faults).toEqual([]);
});

test('@lookup and @key: the queries that take an id alone, and what they find', () => {
  const lookups = printed.filter(({ node }) => argumentsOf(node, 'lookup')).map(({ coordinate }) => coordinate);
  expect(lookups).toEqual([
    'Query.apiKey',
    'Query.deletionJob',
    'Query.mcpServer',
    'Query.session',
    'Query.toolApproval',
    'Query.webhook',
  ]);
  expect(keyed).toEqual(['ApiKey', 'DeletionJob', 'McpServer', 'Session', 'ToolApproval', 'Webhook']);
});
