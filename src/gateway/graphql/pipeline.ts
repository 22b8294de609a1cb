import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  OperationTypeNode,
  type ValidationRule,
  getOperationAST,
  validate,
} from 'graphql';
import { type GraphQLParams, type Plugin, type YogaInitialContext, createGraphQLError, createYoga } from 'graphql-yoga';
import type { HttpRequest } from '../../core/http/messages.ts';
import { schema } from '../schema.ts';
import type { Result } from './answer.ts';
import { withoutFoundValue } from './errors.ts';
import type { Execution, GraphQLCall } from './execution.ts';
import { createKnownDocuments } from './documents.ts';
import { explained, parseDocument } from './limits.ts';

/** So many names are listed, and so many characters of each. */
const MAX_NAMES = 10;
const MAX_LENGTH = 100;

/** @throws GraphQLError if the document has no operation with the name or, without a name, not exactly one operation. It lists the names that exist. */
function requireOperation(document: DocumentNode, operationName: string | null | undefined): void {
  if (getOperationAST(document, operationName)) return;
  const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  const names = operations.flatMap((each) => ('name' in each && each.name ? [quoted(each.name.value)] : []));
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  const known = names.length > 0 ? names.slice(0, MAX_NAMES).join(', ') + more : 'none with a name';
  throw new GraphQLError(messageOf(operations.length, operationName, known), {
    extensions: { code: 'OPERATION_RESOLUTION_FAILURE', http: { status: 400 } },
  });
}

function messageOf(count: number, operationName: string | null | undefined, known: string): string {
  if (count === 0) return 'The document has no operation, only fragments.';
  if (operationName == null)
    return `The document has ${count} operations; name one of them in operationName: ${known}.`;
  return `operationName: the document has no operation named ${quoted(operationName)}; it has ${known}.`;
}

const quoted = (name: string) => `"${name.slice(0, MAX_LENGTH)}"`;

/** Parses, validates and executes a request, for all operations and media types. */
export type Pipeline = (params: GraphQLParams, request: HttpRequest, call: GraphQLCall) => Result | Promise<Result>;

/** Further errors of an invalid document are of little use, and finding them takes time. */
const MAX_VALIDATION_ERRORS = 20;

/**
 * The pipeline of GraphQL Yoga, whose steps are plugins. Reading the request and writing the answer happen outside, because `Request` and
 * `Response` of the fetch API cost more than all its steps (docs/decisions/graphql-pipeline.md).
 */
export function createPipeline(execution: Execution): Pipeline {
  const yoga = createYoga<GraphQLCall>({
    schema,
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    batching: false,
    logging: false,
    // Errors are masked when the answer is created.
    maskedErrors: false,
    maxRequestBodySize: false,
    // The plugin `documents` has its own cache.
    parserAndValidationCache: false,
    plugins: [documents(execution), executing(execution)],
  });
  // Yoga uses only the method of the request.
  return (params, request, call) =>
    yoga.getResultForParams({ params, request: request as unknown as Request }, { ...call });
}

/**
 * Parses and validates documents within the published limits. Valid documents are cached. Refused documents are not,
 * because the stack of an error would keep its request in memory.
 */
function documents(execution: Execution): Plugin<object, GraphQLCall> {
  const known = createKnownDocuments();
  const valid = new WeakSet<DocumentNode>();
  return {
    // For each step that a known document skips, Yoga would create some kilobytes of closures and promises.
    onParams({ params, request, setParamsHandler }) {
      const document = request.method === 'POST' ? known.get(String(params.query)) : undefined;
      const operation = document && getOperationAST(document, params.operationName);
      if (document && operation && operation.operation !== OperationTypeNode.SUBSCRIPTION)
        setParamsHandler((payload) => executeKnown(execution, document, payload));
    },
    onParse({ params, setParsedDocument, setParseFn }) {
      const document = known.get(String(params.source));
      if (document) setParsedDocument(document);
      else setParseFn(parseDocument);
      return ({ result, context }) => {
        if (result && !(result instanceof Error))
          requireOperation(result as DocumentNode, (context as Partial<YogaInitialContext>).params?.operationName);
      };
    },
    onValidate({ params: { documentAST }, setResult, setValidationFn }) {
      if (valid.has(documentAST as DocumentNode)) return setResult([]);
      setValidationFn((given: GraphQLSchema, document: DocumentNode, rules?: readonly ValidationRule[]) => {
        const errors = validate(given, document, rules, { maxErrors: MAX_VALIDATION_ERRORS });
        if (errors.length > 0) return explained(errors, MAX_VALIDATION_ERRORS).map(withoutFoundValue);
        valid.add(document);
        if (document.loc) known.set(document.loc.source.body, document);
        return [];
      });
    },
  };
}

async function executeKnown(
  execution: Execution,
  document: DocumentNode,
  { params, context }: { readonly params: GraphQLParams; readonly context: object },
): Promise<ExecutionResult> {
  const { variables: variableValues, operationName } = params;
  const args = { schema, document, contextValue: context, variableValues, operationName };
  try {
    return await execution.execute(args, callOf(args));
  } catch (error) {
    // As Yoga converts it.
    const { message } = Object(error) as Error;
    return {
      errors: [error instanceof GraphQLError ? error : createGraphQLError(message, { originalError: error as Error })],
    };
  }
}

const executing = (execution: Execution): Plugin<object, GraphQLCall> => ({
  onExecute({ setExecuteFn }) {
    setExecuteFn((args: ExecutionArgs) => execution.execute(args, callOf(args)));
  },
  onSubscribe({ setSubscribeFn }) {
    setSubscribeFn((args: ExecutionArgs) => execution.subscribe(args, callOf(args)));
  },
});

/** Yoga's context contains the properties of the call and more. */
const callOf = ({ contextValue }: ExecutionArgs): GraphQLCall => contextValue as GraphQLCall;
