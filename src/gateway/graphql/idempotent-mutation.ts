import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  TypeInfo,
  getNamedType,
  getOperationAST,
  print,
  separateOperations,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { Logger } from 'pino';
import { CODE_OF, ForbiddenError, NotFoundError, STATUS_OF } from '../../core/errors.ts';
import type { GraphQLContext } from '../../core/graphql/builder.ts';
import type { HttpHeaders } from '../../core/http/messages.ts';
import { RawJson, stringifyWithRawJson } from '../../core/text/raw-json.ts';
import type { Execute } from '../../graphql-executor/executor.ts';
import { isLarger } from '../../core/answer-size.ts';
import { MAX_KEPT_BYTES } from '../bounds.ts';
import type { Idempotency, Outcome } from '../idempotency/idempotency.ts';
import { IDEMPOTENCY_KEY_HEADER, REPLAYED_HEADER, idempotencyKeyOf } from '../request-headers.ts';
import { toDomainError } from '../failures.ts';
import { masked } from './errors.ts';
import { withIdsOnly } from './shortened-result.ts';
import { refusalOfRoot, rootFieldsOf } from './root-fields.ts';

/** Runs GraphQL mutations with an `Idempotency-Key`. */

export interface KeyedExecution {
  readonly run: Execute;
  readonly args: ExecutionArgs;
  readonly context: GraphQLContext;
  /** Contains an `Idempotency-Key`. */
  readonly headers: HttpHeaders;
  readonly log: Logger;
}

/** The stored answer: the JSON text of `data`, so that a replay has the same bytes, and the errors. */
interface StoredAnswer {
  readonly data: string;
  readonly errors: readonly GraphQLFormattedError[];
}

/** Thrown for an answer without data: nothing was executed, and nothing is stored. */
class NothingDone extends Error {
  readonly result: ExecutionResult;

  constructor(result: ExecutionResult) {
    super('the mutation was not executed');
    this.result = result;
  }
}

/**
 * Runs a mutation with a single field once for its key. Requests are the same when the operation with its fragments and the values of its
 * variables are equal. A typed error is not stored; errors of nested fields are stored with the data.
 */
export async function executeIdempotent(
  idempotency: Idempotency,
  { run, args, context, headers, log }: KeyedExecution,
): Promise<ExecutionResult> {
  const document = documentOf(args);
  const [name, ...others] = mutationFieldsOf(document);
  if (name === undefined) return masked(await run({ ...args, contextValue: context }), { log });
  if (others.length > 0) return { errors: [severalFields()] };
  // A caller without the right to the field gets the normal refusal and no stored answer.
  if (refusalOfRoot(args, context.actor)) return masked(await run({ ...args, contextValue: context }), { log });
  const work = (inner: GraphQLContext) => executeOnce(run, args, inner, log);
  try {
    const key = idempotencyKeyOf(headers) ?? '';
    const input = variablesOf(args);
    const request = { context, key, operation: print(document), input, ...marksOf(args.schema, document) };
    const { text, isReplayed } = await idempotency.run(request, work);
    // The text was written by `executeOnce`, in this request or an earlier one.
    const { data, errors } = JSON.parse(text) as StoredAnswer;
    return {
      // The JSON text replaces the value and is inserted into the answer unchanged.
      data: new RawJson(data) as unknown as Record<string, unknown>,
      ...(errors.length > 0 && { errors: errors.map(fromFormatted) }),
      ...(isReplayed && { extensions: { http: { headers: { [REPLAYED_HEADER]: 'true' } } } }),
    };
  } catch (error) {
    if (error instanceof NothingDone) return error.result;
    // Returned as a typed error, if the result union of the mutation has the type.
    if (error instanceof ForbiddenError || error instanceof NotFoundError)
      return masked(await run({ ...args, contextValue: context.with({ refusal: error }) }), { log });
    return { data: null, errors: [toFieldError(error, name, log)] };
  }
}

async function executeOnce(run: Execute, args: ExecutionArgs, context: GraphQLContext, log: Logger): Promise<Outcome> {
  let isSuccess = false;
  const contextValue = context.with({ onSuccess: () => (isSuccess = true) });
  const result = masked(await run({ ...args, contextValue }), { log });
  if (!result.data) throw new NothingDone(result);
  const text = textOf(result);
  const kept = isLarger(text, MAX_KEPT_BYTES) ? textOf(withIdsOnly(result, args, MAX_KEPT_BYTES)) : text;
  return { text, kept, isSuccess };
}

function textOf({ data, errors = [] }: ExecutionResult): string {
  const stored: StoredAnswer = { data: stringifyWithRawJson(data), errors };
  return JSON.stringify(stored);
}

/** The executed operation with only the fragments that it uses. */
function documentOf({ document, operationName }: ExecutionArgs): DocumentNode {
  const name = getOperationAST(document, operationName)?.name?.value ?? '';
  return separateOperations(document)[name] ?? document;
}

/** The response names of the mutation fields, without `__typename`. */
function mutationFieldsOf(document: DocumentNode): string[] {
  const operation = getOperationAST(document);
  if (!operation) return [];
  return [...rootFieldsOf(document, operation)].flatMap(([name, field]) => (field === '__typename' ? [] : [name]));
}

/** The values of the operation's variables. Undeclared variables are ignored. */
function variablesOf({ document, operationName, variableValues }: ExecutionArgs): Record<string, unknown> {
  const defined = getOperationAST(document, operationName)?.variableDefinitions ?? [];
  const names = new Set(defined.map(({ variable }) => variable.name.value));
  return Object.fromEntries(Object.entries(variableValues ?? {}).filter(([name]) => names.has(name)));
}

/** The types by which a document reaches what can be deleted: texts of sessions, occurrences and registered identifiers. */
const SESSION_TYPES = new Set([
  'Session',
  'SessionConnection',
  'SessionMatch',
  'SessionMatchConnection',
  'Node',
  'EventOccurrence',
  'EventOccurrenceConnection',
  'ObjectIdentifier',
  'ObjectIdentifierConnection',
]);

/** Whether a field of the document sends requests to other servers, whether one is never run again, and whether one gives other sessions than a payload's. */
function marksOf(schema: GraphQLSchema, document: DocumentNode) {
  const marks = { callsOut: false, isAtMostOnce: false, hasSessions: false };
  const types = new TypeInfo(schema);
  visit(
    document,
    visitWithTypeInfo(types, {
      Field: () => {
        const { extensions } = types.getFieldDef() ?? {};
        marks.callsOut ||= extensions?.['callsOut'] === true;
        marks.isAtMostOnce ||= extensions?.['isAtMostOnce'] === true;
        const isOfPayload = types.getParentType()?.name.endsWith('Payload') === true;
        marks.hasSessions ||= !isOfPayload && SESSION_TYPES.has(getNamedType(types.getType())?.name ?? '');
      },
    }),
  );
  return marks;
}

function severalFields(): GraphQLError {
  const message = `${IDEMPOTENCY_KEY_HEADER}: a mutation with this header can have only one field; send a separate request with its own key for each field`;
  return new GraphQLError(message, { extensions: { code: CODE_OF.invalid, http: { status: STATUS_OF.invalid } } });
}

/** Converts an error about the idempotency key to a field error with an HTTP status. */
function toFieldError(error: unknown, name: string, log: Logger): GraphQLError {
  const { graphqlMessage, code, status, headers } = toDomainError(error, log);
  return new GraphQLError(graphqlMessage, { path: [name], extensions: { code, http: { status, headers } } });
}

const fromFormatted = ({ message, path, extensions, locations }: GraphQLFormattedError): GraphQLError =>
  Object.assign(new GraphQLError(message, { path, extensions }), { locations });
