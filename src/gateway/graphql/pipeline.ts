import type { DocumentNode, ExecutionArgs, GraphQLSchema, ValidationRule } from 'graphql';
import { validate } from 'graphql';
import { type GraphQLParams, type Plugin, type YogaInitialContext, createYoga } from 'graphql-yoga';
import type { HttpRequest } from '../../core/http/messages.ts';
import { schema } from '../schema.ts';
import type { Result } from './answer.ts';
import { withoutFoundValue } from './errors.ts';
import type { Execution, GraphQLCall } from './execution.ts';
import { createKnownDocuments } from './documents.ts';
import { checkDocument, explained, parseWithinLimits, withoutRepeats } from './limits.ts';
import { requireOperation } from './operation-name.ts';

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
    plugins: [documents(), executing(execution)],
  });
  // Yoga uses only the method of the request.
  return (params, request, call) =>
    yoga.getResultForParams({ params, request: request as unknown as Request }, { ...call });
}

/**
 * Parses and validates documents within the published limits. Valid documents are cached. Refused documents are not,
 * because the stack of an error would keep its request in memory.
 */
function documents(): Plugin {
  const known = createKnownDocuments();
  const valid = new WeakSet<DocumentNode>();
  return {
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

function parseDocument(source: string): DocumentNode {
  const document = parseWithinLimits(source);
  checkDocument(document);
  return withoutRepeats(document);
}

function executing(execution: Execution): Plugin<object, GraphQLCall> {
  return {
    onExecute({ setExecuteFn }) {
      setExecuteFn((args: ExecutionArgs) => execution.execute(args, callOf(args)));
    },
    onSubscribe({ setSubscribeFn }) {
      setSubscribeFn((args: ExecutionArgs) => execution.subscribe(args, callOf(args)));
    },
  };
}

/** Yoga's context contains the properties of the call and more. */
function callOf({ contextValue }: ExecutionArgs): GraphQLCall {
  return contextValue as GraphQLCall;
}
