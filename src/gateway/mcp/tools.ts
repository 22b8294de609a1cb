import type { Tool as ListedTool, ToolAnnotations } from '@modelcontextprotocol/server';
import {
  type DocumentNode,
  type GraphQLField,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
  TypeInfo,
  isObjectType,
  isUnionType,
  parse,
  print,
  validate,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type Access, type Actor, GRANTABLE_SCOPES, type Scope } from '../../core/access.ts';
import { ConfigurationError } from '../../core/config.ts';
import { accessOf } from '../../core/graphql/refusable.ts';
import { schema } from '../schema.ts';
import type { McpDocument } from './documents.ts';
import { descriptionOf, inputSchemaOf } from './input-schema.ts';

const VIEWER = schema.getType('Viewer');
const VIEWER_ORGANIZATION = isObjectType(VIEWER) ? VIEWER.getFields()['organization'] : undefined;

/** A tool of the gateway: one trusted document. */
export interface Tool {
  /** As `tools/list` answers it. */
  readonly listed: {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: ListedTool['inputSchema'];
    readonly annotations: ToolAnnotations;
  };
  /** The document that is executed. */
  readonly text: string;
  readonly isMutation: boolean;
  /** What its fields require. */
  readonly access: readonly Access[];
  /** Whether it reads the acting organization of the viewer. */
  readonly needsOrganization: boolean;
}

/**
 * Makes the tools, by name. Those of mutations are left out unless `mutations` is true.
 * @throws ConfigurationError for a document that is no tool.
 */
export function createTools(
  documents: readonly McpDocument[],
  { mutations }: { readonly mutations: boolean },
): ReadonlyMap<string, Tool> {
  const tools = new Map<string, Tool>();
  const names = new Set<string>();
  for (const { file, text } of documents) {
    const document = parsed(file, text);
    const operation = operationOf(file, document);
    const tool = toolOf(document, operation);
    const { name } = tool.listed;
    if (names.has(name)) refuse(file, `another document has the tool ${name}`);
    names.add(name);
    if (mutations || !tool.isMutation) tools.set(name, tool);
  }
  return tools;
}

/** Whether the key has the scopes of all fields of the tool. Everything else is checked when the tool is called. */
export const isListedFor = ({ access }: Tool, actor: Actor): boolean =>
  access.every(
    ({ scopes, anyScopeOf }) =>
      scopes.every((scope) => actor.scopes.has(scope)) &&
      (!anyScopeOf || anyScopeOf.scopes.some((scope) => actor.scopes.has(scope))),
  );

/** The scopes that the tools need. Where one of several is enough, the first that can be granted. */
export function scopesOfTools(tools: Iterable<Tool>): Scope[] {
  const access = [...tools].flatMap((tool) => tool.access);
  const scopes = new Set(access.flatMap((each) => each.scopes));
  for (const { anyScopeOf: { scopes: alternatives } = { scopes: [] } } of access)
    if (!alternatives.some((scope) => scopes.has(scope)))
      for (const scope of alternatives.filter((each) => GRANTABLE_SCOPES.includes(each)).slice(0, 1)) scopes.add(scope);
  return [...scopes];
}

function parsed(file: string, text: string): DocumentNode {
  try {
    return parse(text);
  } catch (error) {
    return refuse(file, error instanceof Error ? error.message : String(error));
  }
}

function operationOf(file: string, document: DocumentNode): OperationDefinitionNode {
  const [error] = validate(schema, document);
  if (error) return refuse(file, error.message);
  const [operation, ...others] = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  if (operation?.kind !== Kind.OPERATION_DEFINITION || others.length > 0)
    return refuse(file, 'a tool is a document with exactly one operation');
  if (operation.operation === OperationTypeNode.SUBSCRIPTION) return refuse(file, 'a subscription cannot be a tool');
  if (!/^\w{1,64}$/.test(operation.name?.value ?? ''))
    return refuse(file, 'the operation needs a name of at most 64 characters, which is the name of the tool');
  if (descriptionOf(operation) === '')
    return refuse(file, 'the operation needs a comment above it, which is the description of the tool');
  return operation;
}

function refuse(file: string, reason: string): never {
  throw new ConfigurationError(`MCP_DOCUMENTS: ${file}: ${reason}`);
}

function toolOf(document: DocumentNode, operation: OperationDefinitionNode): Tool {
  const fields = fieldsOf(document);
  const access = fields.flatMap((field) => accessOf(field) ?? []);
  return {
    listed: {
      name: operation.name?.value ?? '',
      description: descriptionOf(operation),
      inputSchema: inputSchemaOf(operation),
      annotations: annotationsOf(operation, fields),
    },
    text: print(withTypedErrors(document)),
    isMutation: operation.operation === OperationTypeNode.MUTATION,
    access,
    // Without a scope, only what any caller may read of it is selected.
    needsOrganization: access.length > 0 && fields.some((field) => field === VIEWER_ORGANIZATION),
  };
}

function fieldsOf(document: DocumentNode): GraphQLField<unknown, unknown>[] {
  const info = new TypeInfo(schema);
  const fields: GraphQLField<unknown, unknown>[] = [];
  const enter = () => {
    const field = info.getFieldDef();
    if (field) fields.push(field);
  };
  visit(document, visitWithTypeInfo(info, { Field: { enter } }));
  return fields;
}

/** Mutations that only add something, and those that can be repeated, by their names. */
const ADDS = /^(?:accept|add|append|apply|create|invite|record|register|send)[A-Z]/;
const REPEATABLE = /^(?:delete|pin|remove|replace|revoke|set|transition|update)[A-Z]/;

function annotationsOf(
  { operation }: OperationDefinitionNode,
  fields: readonly GraphQLField<unknown, unknown>[],
): ToolAnnotations {
  if (operation === OperationTypeNode.QUERY) return { readOnlyHint: true, openWorldHint: false };
  const mutations = new Set(Object.values(schema.getMutationType()?.getFields() ?? {}));
  const names = fields.filter((field) => mutations.has(field)).map(({ name }) => name);
  return {
    readOnlyHint: false,
    destructiveHint: !names.every((name) => ADDS.test(name)),
    idempotentHint: names.every((name) => REPEATABLE.test(name)),
    openWorldHint: false,
  };
}

/** Names that no operator chooses, for what is selected of typed errors. */
export const ERROR_CODE = 'mcp__code';
export const ERROR_MESSAGE = 'mcp__message';

const TYPED_ERROR = parseSelection(`{ ... on Error { ${ERROR_CODE}: code ${ERROR_MESSAGE}: message } }`);

function parseSelection(text: string): SelectionSetNode['selections'] {
  const [definition] = parse(text).definitions;
  return definition?.kind === Kind.OPERATION_DEFINITION ? definition.selectionSet.selections : [];
}

/** Selects the typed errors of each result, so that a refused mutation can be told from a successful one. */
function withTypedErrors(document: DocumentNode): DocumentNode {
  const info = new TypeInfo(schema);
  return visit(
    document,
    visitWithTypeInfo(info, {
      Field: (node) => {
        const { selectionSet } = node;
        if (info.getParentType() !== schema.getMutationType() || !selectionSet || !isUnionType(info.getType()))
          return undefined;
        return { ...node, selectionSet: { ...selectionSet, selections: [...selectionSet.selections, ...TYPED_ERROR] } };
      },
    }),
  );
}
