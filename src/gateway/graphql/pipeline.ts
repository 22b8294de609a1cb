import type { DocumentNode, ExecutionArgs, GraphQLSchema, ValidationRule } from 'graphql';
import { validate } from 'graphql';
import { type GraphQLParams, type Plugin, createYoga } from 'graphql-yoga';
import type { HttpRequest } from '../../core/http/messages.ts';
import { schema } from '../schema.ts';
import type { Result } from './answer.ts';
import { toHttpError, withoutFoundValue } from './errors.ts';
import type { Execution, GraphQLCall } from './execution.ts';
import { createKnownDocuments } from './known-documents.ts';
import { checkDocument, explained, parseWithinLimits, withoutRepeats } from './limits.ts';

/** The parameters of a request, parsed, validated and executed, in this order, whatever they ask for and however it is answered. */
export type Pipeline = (params: GraphQLParams, request: HttpRequest, call: GraphQLCall) => Promise<Result>;

/** Later errors of a document that is wrong already tell little, and finding them costs. */
const MAX_VALIDATION_ERRORS = 20;

/**
 * Yoga's own pipeline, whose steps are plugins. The request is read and the answer written outside of it, since fetch's `Request` and
 * `Response` cost more than all of its steps (docs/decisions/graphql-pipeline.md).
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
    // Errors are masked where the answer is made.
    maskedErrors: false,
    maxRequestBodySize: false,
    // `documents` keeps them.
    parserAndValidationCache: false,
    plugins: [documents(), executing(execution)],
  });
  return async (params, request, call) => {
    try {
      // Yoga looks at the request's method alone.
      return await yoga.getResultForParams({ params, request: request as unknown as Request }, { ...call });
    } catch (error) {
      return { errors: [toHttpError(error)] };
    }
  };
}

/**
 * Reads documents within the published limits. One that has been found valid is not read again. What is refused is forgotten: an error holds,
 * by its stack, all of the request that it was found in.
 */
function documents(): Plugin {
  const known = createKnownDocuments();
  const valid = new WeakSet<DocumentNode>();
  return {
    onParse({ params, setParsedDocument, setParseFn }) {
      const document = known.get(String(params.source));
      if (document) setParsedDocument(document);
      else setParseFn(parseDocument);
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

/** Yoga's context is what it was called with, and more. */
function callOf({ contextValue }: ExecutionArgs): GraphQLCall {
  return contextValue as GraphQLCall;
}
