import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  TypeInfo,
  execute,
  getOperationAST,
  print,
  separateOperations,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { Logger } from 'pino';
import { MAX_ANSWER_BYTES, answerBytes, answerTooLarge, isSurelyTooLarge } from '../../core/answer-size.ts';
import type { HttpHeaders } from '../../core/http/messages.ts';
import type { GraphQLContext } from '../../core/graphql/builder.ts';
import { RawJson, stringifyWithRawJson } from '../../core/text/raw-json.ts';
import { toDomainError } from '../failures.ts';
import type { Idempotency, Outcome } from '../idempotency/idempotency.ts';
import { idempotencyKeyOf } from '../request-headers.ts';
import { masked } from './errors.ts';

/** How a GraphQL mutation runs under an `Idempotency-Key`. */

export interface KeyedExecution {
  readonly schema: GraphQLSchema;
  readonly args: ExecutionArgs;
  readonly context: GraphQLContext;
  /** Has an `Idempotency-Key`. */
  readonly headers: HttpHeaders;
  readonly log: Logger;
}

export interface KeyedResult {
  readonly result: ExecutionResult;
  /** Whether nothing ran: every field was answered from the store. */
  readonly isReplayed: boolean;
}

/** What is stored of a root field. Its value is text, so that it leaves as the same bytes each time; a field that is skipped has none. */
interface FieldAnswer {
  readonly value?: string;
  readonly errors: readonly GraphQLFormattedError[];
}

/** A root field that has no value, and so leaves the answer without data: nothing of it is kept. */
class FieldFailure extends Error {
  readonly result: ExecutionResult;

  constructor(result: ExecutionResult) {
    super('the field has no value');
    this.result = result;
  }
}

/**
 * Executes the root fields of a mutation one after the other, as ever (GraphQL, section 6.2.2), each with a key of its own: the request's,
 * for its response path. So when the second of two fails, a retry replays the first and runs the second.
 *
 * A request is the same when the field, all that is selected below it, and the values of the variables in it are. A field that answers a
 * typed error is not stored. Errors below a field that has a value are stored with it.
 */
export async function executeWithKey(
  idempotency: Idempotency,
  { schema, args, context, headers, log }: KeyedExecution,
): Promise<KeyedResult> {
  const data: Record<string, unknown> = {};
  const errors: GraphQLError[] = [];
  let isReplayed = true;
  let bytes = 0;
  for (const { path, document, variables, isMeta } of rootFields(args)) {
    const run = (inner: GraphQLContext) => executeField({ ...args, document }, path, inner, log);
    try {
      const key = idempotencyKeyOf(headers) ?? '';
      const input = Object.fromEntries(
        Object.entries(args.variableValues ?? {}).filter(([name]) => variables.has(name)),
      );
      const request = { context, key, path, operation: print(document), input, callsOut: callsOut(schema, document) };
      const answered = isMeta ? { ...(await run(context)), isReplayed: true } : await idempotency.run(request, run);
      // Written by `executeField`, now or then.
      const answer = JSON.parse(answered.text) as FieldAnswer;
      errors.push(...answer.errors.map(fromFormatted));
      if (answer.value === undefined) continue;
      // Nothing more is done for an answer that cannot be given.
      bytes += answer.value.length;
      if (bytes > MAX_ANSWER_BYTES) throw answerTooLarge();
      data[path] = new RawJson(answer.value);
      isReplayed &&= answered.isReplayed;
    } catch (error) {
      const failed =
        error instanceof FieldFailure ? error.result : { data: null, errors: [toFieldError(error, path, log)] };
      return { result: { ...failed, errors: [...errors, ...(failed.errors ?? [])] }, isReplayed: false };
    }
  }
  return { result: { data, ...(errors.length > 0 && { errors }) }, isReplayed };
}

async function executeField(args: ExecutionArgs, path: string, context: GraphQLContext, log: Logger): Promise<Outcome> {
  let isSuccess = false;
  const contextValue: GraphQLContext = { ...context, onSuccess: () => (isSuccess = true) };
  const result = masked(await execute({ ...args, contextValue }), { log });
  if (!result.data) throw new FieldFailure(result);
  // Nothing is changed where the answer cannot be given: the change is not committed yet.
  if (isSurelyTooLarge(result.data)) throw answerTooLarge();
  const value = Object.hasOwn(result.data, path) ? stringifyWithRawJson(result.data[path]) : undefined;
  answerBytes(value ?? '');
  return { text: JSON.stringify({ value, errors: result.errors ?? [] } satisfies FieldAnswer), isSuccess };
}

interface RootField {
  /** Its response name. */
  readonly path: string;
  /** The operation with this field alone, with all that it needs and nothing else. */
  readonly document: DocumentNode;
  readonly variables: ReadonlySet<string>;
  /** Whether it is `__typename`, which does nothing. */
  readonly isMeta: boolean;
}

function rootFields({ document, operationName }: ExecutionArgs): RootField[] {
  const operation = getOperationAST(document, operationName);
  if (!operation) return [];
  const fragments = new Map(
    document.definitions.flatMap((node) =>
      node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node] as const] : [],
    ),
  );
  const names = new Map<string, string>();
  filterRoot(operation.selectionSet, fragments, (path, name) => {
    names.set(path, name);
    return false;
  });
  return [...names].map(([path, name]) => {
    const selectionSet = filterRoot(operation.selectionSet, fragments, (other) => other === path);
    return {
      path,
      ...withoutUnused({ ...operation, selectionSet }, [...fragments.values()]),
      isMeta: name === '__typename',
    };
  });
}

/** The selections of the root that `keep` wants, with their conditions; spreads become inline fragments, which say the same. */
function filterRoot(
  set: SelectionSetNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  keep: (path: string, name: string) => boolean,
): SelectionSetNode {
  const selections = set.selections.flatMap((selection): SelectionNode[] => {
    if (selection.kind === Kind.FIELD)
      return keep((selection.alias ?? selection.name).value, selection.name.value) ? [selection] : [];
    const inner = selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value) : selection;
    if (!inner) return [];
    const selectionSet = filterRoot(inner.selectionSet, fragments, keep);
    const { typeCondition } = inner;
    return selectionSet.selections.length === 0
      ? []
      : [{ kind: Kind.INLINE_FRAGMENT, typeCondition, directives: selection.directives, selectionSet }];
  });
  return { ...set, selections };
}

/** Variables and fragments that the operation does not use say nothing of its field. */
function withoutUnused(operation: OperationDefinitionNode, fragments: readonly FragmentDefinitionNode[]) {
  const all: DocumentNode = { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] };
  const { definitions } = separateOperations(all)[operation.name?.value ?? ''] ?? all;
  const variables = new Set<string>();
  visit({ kind: Kind.DOCUMENT, definitions } satisfies DocumentNode, {
    VariableDefinition: () => false,
    Variable: ({ name }) => void variables.add(name.value),
  });
  const used = operation.variableDefinitions?.filter(({ variable }) => variables.has(variable.name.value));
  const document: DocumentNode = {
    kind: Kind.DOCUMENT,
    definitions: definitions.map((node) =>
      node.kind === Kind.OPERATION_DEFINITION ? { ...node, variableDefinitions: used } : node,
    ),
  };
  return { document, variables };
}

/** Whether anything in the document asks other servers. */
function callsOut(schema: GraphQLSchema, document: DocumentNode): boolean {
  let found = false;
  const types = new TypeInfo(schema);
  visit(
    document,
    visitWithTypeInfo(types, {
      Field: () => {
        found ||= types.getFieldDef()?.extensions['callsOut'] === true;
      },
    }),
  );
  return found;
}

/** What the key itself is refused for, with its status. */
function toFieldError(error: unknown, path: string, log: Logger): GraphQLError {
  const { message, code, status, headers } = toDomainError(error, log);
  return new GraphQLError(message, { path: [path], extensions: { code, http: { status, headers } } });
}

function fromFormatted({ message, path, extensions, locations }: GraphQLFormattedError): GraphQLError {
  return Object.assign(new GraphQLError(message, { path, extensions }), { locations });
}
