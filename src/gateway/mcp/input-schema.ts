import type { Tool } from '@modelcontextprotocol/server';
import {
  type GraphQLInputType,
  type OperationDefinitionNode,
  type Token,
  type VariableDefinitionNode,
  TokenKind,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  typeFromAST,
  valueFromASTUntyped,
} from 'graphql';
import { schema } from '../schema.ts';

type InputSchema = Tool['inputSchema'];
type ArgumentSchema = Extract<NonNullable<InputSchema['properties']>[string], Readonly<Record<string, unknown>>>;

/** The schema of the arguments: one for each variable, described by the comment above it. */
export function inputSchemaOf({ variableDefinitions = [] }: OperationDefinitionNode): InputSchema {
  const required = variableDefinitions
    .filter(({ type, defaultValue }) => type.kind === 'NonNullType' && defaultValue === undefined)
    .map(({ variable }) => variable.name.value);
  return {
    type: 'object',
    properties: Object.fromEntries(
      variableDefinitions.map((definition) => [definition.variable.name.value, argumentSchema(definition)]),
    ),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function argumentSchema(definition: VariableDefinitionNode): ArgumentSchema {
  const type = typeFromAST(schema, definition.type);
  const description = descriptionOf(definition);
  return {
    ...(type ? schemaOf(type as GraphQLInputType, []) : {}),
    ...(description !== '' && { description }),
    // A literal without variables is JSON.
    ...(definition.defaultValue && {
      default: valueFromASTUntyped(definition.defaultValue) as ArgumentSchema[string],
    }),
  };
}

const SCALARS: Readonly<Record<string, ArgumentSchema>> = {
  Int: { type: 'integer' },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  // Any JSON value.
  JSON: {},
};

/** `within` are the input types around it, because a type can contain itself. */
function schemaOf(type: GraphQLInputType, within: readonly string[]): ArgumentSchema {
  if (isNonNullType(type)) return schemaOf(type.ofType, within);
  if (isListType(type)) return { type: 'array', items: schemaOf(type.ofType, within) };
  if (isEnumType(type)) return { type: 'string', enum: type.getValues().map(({ name }) => name) };
  if (!isInputObjectType(type)) return SCALARS[type.name] ?? { type: 'string' };
  if (within.includes(type.name)) return { type: 'object' };
  const fields = Object.values(type.getFields());
  const required = fields.filter((field) => isNonNullType(field.type) && field.defaultValue === undefined);
  return {
    type: 'object',
    properties: Object.fromEntries(
      fields.map((field) => [
        field.name,
        {
          ...schemaOf(field.type, [...within, type.name]),
          ...(field.description != null && { description: field.description }),
        },
      ]),
    ),
    ...(required.length > 0 && { required: required.map(({ name }) => name) }),
    ...(type.isOneOf && { minProperties: 1, maxProperties: 1 }),
    additionalProperties: false,
  };
}

/** The description of an operation or variable: its own, or the comment lines directly above it, but no comment behind something else. */
export function descriptionOf(node: OperationDefinitionNode | VariableDefinitionNode): string {
  if (node.description) return node.description.value;
  const lines: string[] = [];
  for (let token = node.loc?.startToken; token && isCommentAbove(token); token = token.prev ?? undefined)
    lines.unshift(token.prev?.value.trim() ?? '');
  return lines.join(' ').trim();
}

/** Whether the token before this one is a comment that has the line above for itself. */
const isCommentAbove = ({ prev, line }: Token): boolean =>
  prev?.kind === TokenKind.COMMENT && prev.line === line - 1 && prev.prev?.line !== prev.line;
