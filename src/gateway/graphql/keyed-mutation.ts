import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  TypeInfo,
  getOperationAST,
  print,
  separateOperations,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { Logger } from 'pino';
import { answerBytes, answerTooLarge, isSurelyTooLarge } from '../../core/answer-size.ts';
import { CODE_OF, ForbiddenError, NotFoundError, STATUS_OF } from '../../core/errors.ts';
import type { GraphQLContext } from '../../core/graphql/builder.ts';
import type { HttpHeaders } from '../../core/http/messages.ts';
import { RawJson, stringifyWithRawJson } from '../../core/text/raw-json.ts';
import type { Execute } from '../../graphql-executor/executor.ts';
import type { Idempotency, Outcome } from '../idempotency/idempotency.ts';
import { KEY_HEADER, REPLAYED_HEADER, idempotencyKeyOf } from '../request-headers.ts';
import { toDomainError } from '../failures.ts';
import { masked } from './errors.ts';
import { refusalOfRoot } from './root-access.ts';
import { rootFieldsOf } from './root-fields.ts';

/** How a GraphQL mutation runs under an `Idempotency-Key`. */

export interface KeyedExecution {
  readonly run: Execute;
  readonly args: ExecutionArgs;
  readonly context: GraphQLContext;
  /** Has an `Idempotency-Key`. */
  readonly headers: HttpHeaders;
  readonly log: Logger;
}

/** What is stored: the text of `data`, so that it leaves as the same bytes each time, and the errors beside it. */
interface StoredAnswer {
  readonly data: string;
  readonly errors: readonly GraphQLFormattedError[];
}

/** An answer without data: nothing was run, and nothing is stored. */
class NothingDone extends Error {
  readonly result: ExecutionResult;

  constructor(result: ExecutionResult) {
    super('the mutation was not run');
    this.result = result;
  }
}

/**
 * Runs a mutation of one field once for its key. A request is the same when the operation with its fragments and the values of its
 * variables are. A typed error is not stored; errors below a field that has a value are stored with it.
 */
export async function executeWithKey(
  idempotency: Idempotency,
  { run, args, context, headers, log }: KeyedExecution,
): Promise<ExecutionResult> {
  const document = documentOf(args);
  const [name, ...others] = mutationFieldsOf(document);
  if (name === undefined) return masked(await run({ ...args, contextValue: context }), { log });
  if (others.length > 0) return { errors: [severalFields()] };
  // Whoever may not do it is answered as without a key, and is given no stored answer.
  if (refusalOfRoot(args, context.actor)) return masked(await run({ ...args, contextValue: context }), { log });
  const work = (inner: GraphQLContext) => executeOnce(run, args, inner, log);
  try {
    const key = idempotencyKeyOf(headers) ?? '';
    const input = variablesOf(args);
    const request = { context, key, operation: print(document), input, callsOut: callsOut(args.schema, document) };
    const { text, isReplayed } = await idempotency.run(request, work);
    // Written by `executeOnce`, now or then.
    const { data, errors } = JSON.parse(text) as StoredAnswer;
    return {
      // Text in place of a value, which the answer is made of like any other.
      data: new RawJson(data) as unknown as Record<string, unknown>,
      ...(errors.length > 0 && { errors: errors.map(fromFormatted) }),
      ...(isReplayed && { extensions: { http: { headers: { [REPLAYED_HEADER]: 'true' } } } }),
    };
  } catch (error) {
    if (error instanceof NothingDone) return error.result;
    // A member of the mutation's result, where it has such a member.
    if (error instanceof ForbiddenError || error instanceof NotFoundError)
      return masked(await run({ ...args, contextValue: { ...context, refusal: error } }), { log });
    return { data: null, errors: [toFieldError(error, name, log)] };
  }
}

async function executeOnce(run: Execute, args: ExecutionArgs, context: GraphQLContext, log: Logger): Promise<Outcome> {
  let isSuccess = false;
  const contextValue: GraphQLContext = { ...context, onSuccess: () => (isSuccess = true) };
  const result = masked(await run({ ...args, contextValue }), { log });
  if (!result.data) throw new NothingDone(result);
  // Nothing is changed where the answer cannot be given: the change is not committed yet.
  if (isSurelyTooLarge(result.data)) throw answerTooLarge();
  const data = stringifyWithRawJson(result.data);
  answerBytes(data);
  return { text: JSON.stringify({ data, errors: result.errors ?? [] } satisfies StoredAnswer), isSuccess };
}

/** The operation that is run, with its fragments alone. */
function documentOf({ document, operationName }: ExecutionArgs): DocumentNode {
  const name = getOperationAST(document, operationName)?.name?.value ?? '';
  return separateOperations(document)[name] ?? document;
}

/** Response names; `__typename` does nothing. */
function mutationFieldsOf(document: DocumentNode): string[] {
  const operation = getOperationAST(document);
  if (!operation) return [];
  return [...rootFieldsOf(document, operation)].flatMap(([name, field]) => (field === '__typename' ? [] : [name]));
}

/** Those that the operation does not have say nothing of it. */
function variablesOf({ document, operationName, variableValues }: ExecutionArgs): Record<string, unknown> {
  const defined = getOperationAST(document, operationName)?.variableDefinitions ?? [];
  const names = new Set(defined.map(({ variable }) => variable.name.value));
  return Object.fromEntries(Object.entries(variableValues ?? {}).filter(([name]) => names.has(name)));
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

function severalFields(): GraphQLError {
  const message = `${KEY_HEADER}: a mutation with this header has one field; send one request with its own key for each field`;
  return new GraphQLError(message, { extensions: { code: CODE_OF.invalid, http: { status: STATUS_OF.invalid } } });
}

/** What the key itself is refused for, with its status. */
function toFieldError(error: unknown, name: string, log: Logger): GraphQLError {
  const { graphqlMessage, code, status, headers } = toDomainError(error, log);
  return new GraphQLError(graphqlMessage, { path: [name], extensions: { code, http: { status, headers } } });
}

function fromFormatted({ message, path, extensions, locations }: GraphQLFormattedError): GraphQLError {
  return Object.assign(new GraphQLError(message, { path, extensions }), { locations });
}
