import { type GraphQLField, type GraphQLObjectType, type GraphQLSchema, getNamedType, isObjectType } from 'graphql';
import { accessOf, isSemanticallyNonNull } from '../../core/graphql/refusable.ts';
import type { Applied } from '../../core/graphql/published-directives.ts';
import { scopesThatSuffice } from '../../core/access.ts';
import { sizingOf, statementCost } from './document-cost.ts';

/** The directives of the published schema, from the rules that refuse and charge. */
export function directivesOf(schema: GraphQLSchema): Applied {
  const lookups = Object.values(schema.getQueryType()?.getFields() ?? {}).filter(isLookup);
  const keyed = new Set(lookups.map(({ type }) => getNamedType(type).name));
  return {
    ofType: ({ name }) => (keyed.has(name) ? ['@key(fields: "id")'] : []),
    ofField: (field, parent) => [
      ...(isSemanticallyNonNull(field) ? ['@semanticNonNull'] : []),
      ...(lookups.includes(field) ? ['@lookup'] : []),
      ...scopesOf(field),
      ...costOf(field, parent),
    ],
  };
}

/** Whether a query finds an object by its id alone. */
const isLookup = ({ args: [only, ...others], type }: GraphQLField<unknown, unknown>): boolean =>
  only?.name === 'id' && others.length === 0 && isObjectType(getNamedType(type));

function scopesOf(field: GraphQLField<unknown, unknown>): string[] {
  const access = accessOf(field);
  const scopes = access ? scopesThatSuffice(access) : [];
  return scopes.some((each) => each.length > 0) ? [`@requiresScopes(scopes: ${listed(scopes)})`] : [];
}

function costOf(field: GraphQLField<unknown, unknown>, parent: GraphQLObjectType): string[] {
  const weight = statementCost(field, parent);
  const size = sizingOf(field, parent);
  const slicing = size && [
    `assumedSize: ${size.assumedSize}`,
    ...(size.slicingArguments.length > 0 ? [`slicingArguments: ${listed(size.slicingArguments)}`] : []),
    ...(size.sizedFields.length > 0 ? [`sizedFields: ${listed(size.sizedFields)}`] : []),
    'requireOneSlicingArgument: false',
  ];
  return [
    ...(weight > 0 ? [`@cost(weight: "${weight}")`] : []),
    ...(slicing ? [`@listSize(${slicing.join(', ')})`] : []),
  ];
}

const listed = (values: readonly unknown[]): string => JSON.stringify(values).replaceAll(',', ', ');
