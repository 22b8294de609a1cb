import type { z } from 'zod';
import { exampleOf } from '../documents.ts';
import type { HttpAnswer, HttpRequest } from './messages.ts';
import { type Access, describeAccess } from '../access.ts';
import { STATUS_OF } from '../errors.ts';
import { objectIn } from '../input/json-schema.ts';
import type { DeclaredOperation, OperationContext, WorkContext } from '../operation.ts';
import { type Message, inRest, sentences } from '../text/wording.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Status = 200 | 201 | 202 | 204;

/** A body of another media type than JSON, which has an input and an operation of its own. */
export interface TextBody {
  readonly mediaType: string;
  /** What the body is, for OpenAPI. */
  readonly description: string;
  readonly example: string;
  readonly input: z.core.$ZodType;
  /** Parameters of the query that belong to this body, by their names, with what OpenAPI says of them. */
  readonly queryParameters?: Readonly<Record<string, { readonly description: string; readonly schema: object }>>;
  /** Makes the input of the text and the parameters of the media type and of the query. Path parameters are added. */
  readonly toInput: (text: string, parameters: Readonly<Record<string, string>>, query: URLSearchParams) => object;
  readonly run: (context: OperationContext, input: unknown) => Promise<unknown>;
}

/** Checks the types of the operation and its input, and erases them for the table of routes. */
export function textBody<Input, Result>(
  operation: DeclaredOperation<Input, Result>,
  options: Omit<TextBody, 'input' | 'run'>,
): TextBody {
  const { input } = operation.declaration;
  if (!input) throw new Error(`${operation.declaration.name}: the operation has no input`);
  // The schema of the input has returned it.
  return { ...options, input, run: (context, given) => operation(context, given as Input) };
}

/** The common part of every REST route: its path, its operation, and the schema of its answer. */
interface RouteBase<Input extends z.core.$ZodType, Output extends z.core.$ZodType> {
  readonly method: Method;
  readonly path: string;
  /** The name of the operation. Its GraphQL mutation has the same name, but calls MCP connections MCP servers. */
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** The input in one object: parameters of the path and, for GET and DELETE, of the query, otherwise properties of the body. */
  readonly input: Input;
  /** The schema of the answer; absent if the answer has no body. */
  readonly output?: Output;
  readonly status: Status;
  /** For an operation that can find nothing to create: when its answer is 200 instead of `status`. */
  readonly isUnchanged?: { readonly description: string; readonly when: (answer: z.input<Output>) => boolean };
  /** For a created object: the last segment of its path, below that of the request. The answer then has `Location`. */
  readonly location?: (answer: z.input<Output>) => string;
  /** The errors that are specific to this operation. Those of every request (401, 403 …) are added. */
  readonly errors: readonly number[];
  /** Whether the body is optional; by default if no property of it is required. With this, a DELETE takes its input from the body, not from the query. */
  readonly optionalBody?: boolean;
  /** Properties of the input of a body that stand in the query instead. */
  readonly inQuery?: readonly string[];
  /** Another media type that the body can have. Its operation has the result of this one. */
  readonly textBody?: TextBody;
  /** Whether the operation calls other servers, so that no transaction may be open around it. */
  readonly callsOut?: boolean;
  /** Whether a retry with the same `Idempotency-Key` never runs it again. */
  readonly isAtMostOnce?: boolean;
  /** Request headers that `respond` reads, for OpenAPI. */
  readonly headerParameters?: readonly {
    readonly name: string;
    readonly description: string;
    readonly schema: object;
  }[];
  /** Response headers of some answers of `respond`, for OpenAPI. */
  readonly answerHeaders?: Readonly<Record<string, { readonly description: string; readonly schema: object }>>;
  /** Headers of every answer, such as those of a deprecation. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Examples for OpenAPI: of the body, and of an answer that is not the example of its document. */
  readonly examples?: { readonly input?: object; readonly output?: z.input<Output> };
  /** Descriptions of media types other than JSON. Without `output` the answer has one of these. */
  readonly mediaTypes?: Readonly<Record<string, string>>;
}

/** A route that requires an API key. */
export interface KeyedRoute<
  Input extends z.core.$ZodType = z.core.$ZodType,
  Output extends z.core.$ZodType = z.core.$ZodType,
> extends RouteBase<Input, Output> {
  /** The access of the operation, checked before the input is read. */
  readonly access: Access;
}

/** A route whose operation returns the data of the answer. */
export interface DataRoute<
  Input extends z.core.$ZodType = z.core.$ZodType,
  Output extends z.core.$ZodType = z.core.$ZodType,
> extends KeyedRoute<Input, Output> {
  /** `path` is the path of the request, for links to other pages. */
  readonly run: (context: OperationContext, input: z.output<Input>, path: string) => Promise<z.input<Output> | void>;
}

/** A route that reads, and creates the whole answer, as text or as a stream. */
interface RespondingRoute<
  Input extends z.core.$ZodType = z.core.$ZodType,
  Output extends z.core.$ZodType = z.core.$ZodType,
> extends KeyedRoute<Input, Output> {
  readonly respond: (context: OperationContext, input: z.output<Input>, request: HttpRequest) => Promise<HttpAnswer>;
}

/**
 * A route that receives the bytes of the body and answers with bytes or a stream. Its input has only the parameters of the path; the body and
 * the answer are documents of another protocol.
 */
export interface RawRoute<Input extends z.core.$ZodType = z.core.$ZodType> extends KeyedRoute<Input> {
  readonly exchange: (
    context: OperationContext,
    input: z.output<Input>,
    message: { readonly request: HttpRequest; readonly body: Uint8Array },
  ) => Promise<HttpAnswer>;
  /** What the body is, for OpenAPI; absent if there is none. */
  readonly body?: string;
  /** What the answer is, by its media type. */
  readonly answers: Readonly<Record<string, string>>;
}

export type Route<Input extends z.core.$ZodType = z.core.$ZodType, Output extends z.core.$ZodType = z.core.$ZodType> =
  | DataRoute<Input, Output>
  | RespondingRoute<Input, Output>;

/** A route without an API key, because the credential is in its input. */
export interface KeylessRoute<
  Input extends z.core.$ZodType = z.core.$ZodType,
  Output extends z.core.$ZodType = z.core.$ZodType,
> extends RouteBase<Input, Output> {
  readonly access: 'keyless';
  readonly run: (context: PublicContext, input: z.output<Input>) => Promise<z.input<Output> | void>;
}

export type AnyRoute = Route | RawRoute | KeylessRoute;

/** The context of an operation without a caller. */
export type PublicContext = WorkContext &
  Pick<OperationContext, 'signal' | 'requestId' | 'requestIdOrigin' | 'client'> & {
    /** The user of the signed-in browser; undefined without a valid cookie, even on requests from other sites. */
    readonly signedInUserId: () => Promise<string | undefined>;
  };

/** A page without an API key, because its query or form carries the permission. */
export interface PublicPage {
  readonly path: string;
  /** The name in logs and metrics. */
  readonly operationId: string;
  /** Answers GET. */
  readonly answer: (context: PublicContext, query: URLSearchParams) => Promise<HttpAnswer>;
  /** Answers POST of its form, but not from another site. */
  readonly submit?: (context: PublicContext, form: URLSearchParams) => Promise<HttpAnswer>;
}

/** What only REST knows about an operation. */
interface RouteOptions<Output extends z.core.$ZodType> extends Omit<
  RouteBase<z.core.$ZodType, Output>,
  | 'method'
  | 'path'
  | 'operationId'
  | 'tag'
  | 'summary'
  | 'description'
  | 'input'
  | 'output'
  | 'status'
  | 'errors'
  | 'callsOut'
  | 'isAtMostOnce'
> {
  /** The status of success; by default 201 for a POST with an answer, 204 without an answer, otherwise 200. */
  readonly status?: Status;
  /** The name, if another route has that of the operation. */
  readonly operationId?: string;
  /** Statuses of errors in addition to those of the classes of errors that the operation declares. */
  readonly moreErrors?: readonly number[];
  /** The summary; by default the first sentence of the description of the operation. */
  readonly summary?: string;
  /** The description; by default the other sentences. The requirements of the access are added. */
  readonly description?: Message;
  /** The schema of the answer. */
  readonly output?: Output;
}

/** Calls the operation with its own input, and makes the document from its result. Without a document the answer is empty. */
interface DirectRoute<Result, Output extends z.core.$ZodType> extends RouteOptions<Output> {
  readonly toDocument?: (result: Result, context: OperationContext) => z.input<Output> | Promise<z.input<Output>>;
}

/** Calls the operation in its own way, such as with an input of another shape. */
type OwnRoute<Input, Output extends z.core.$ZodType> = RouteOptions<Output> & {
  readonly input?: z.core.$ZodType<Input>;
} & (
    | {
        /** `path` is the path of the request, for links to other pages. */
        readonly run: (context: OperationContext, input: Input, path: string) => Promise<z.input<Output> | void>;
      }
    | { readonly respond: RespondingRoute<z.core.$ZodType<Input>, Output>['respond'] }
  );

/** The method and the path. Path segments that start with `:` are parameters. */
type Endpoint = `${Method} /${string}`;

/** Makes the route of an operation, given the tag of its noun. Name, texts, access, errors and input come from the declaration. */
export function routesOf(tag: string) {
  function route<Input, Result, Output extends z.core.$ZodType, Own = Input>(
    endpoint: Endpoint,
    operation: DeclaredOperation<Input, Result>,
    options?: DirectRoute<Result, Output> | OwnRoute<Own, Output>,
  ): Route;
  /** Checks the types of input and output above, and erases them for the table of routes. */
  function route<Input, Result>(
    endpoint: Endpoint,
    operation: DeclaredOperation<Input, Result>,
    options: RouteOptions<z.core.$ZodType> &
      Partial<Pick<Route, 'input'>> &
      Partial<Pick<DirectRoute<Result, z.core.$ZodType>, 'toDocument'>> = {},
  ): Route {
    const [method, path] = endpoint.split(' ') as [Method, string];
    const { name, access, callsOut, isAtMostOnce, errors = [], ...declaration } = operation.declaration;
    const [first, rest] = splitAfterFirstSentence(inRest(declaration.description));
    const {
      summary = first,
      description = rest,
      input = declaration.input,
      toDocument,
      moreErrors = [],
      ...shown
    } = options;
    if (!input) throw new Error(`${name}: neither the operation nor the route has an input`);
    return {
      run: async (context: OperationContext, given: unknown) => {
        // The schema of the input has returned it.
        const result = await operation(context, given as Input);
        return toDocument?.(result, context);
      },
      method,
      path,
      operationId: name,
      tag,
      status: statusOf(method, options),
      optionalBody: isBodyOptional(method, path, input),
      ...shown,
      summary,
      description: inRest(sentences(description, describeAccess(access))),
      access,
      callsOut,
      isAtMostOnce,
      input,
      errors: [...errors.map(({ kind }) => STATUS_OF[kind]), ...moreErrors],
    };
  }
  return route;
}

/** Whether no property of a body is required. */
function isBodyOptional(method: Method, path: string, input: z.core.$ZodType) {
  if (method === 'GET' || method === 'DELETE') return undefined;
  const inPath = new Set(pathParameters(path));
  const object = objectIn(input);
  if (!object) return false;
  return Object.entries<z.core.$ZodType>(object.shape).every(
    ([name, { _zod }]) => inPath.has(name) || _zod.optin === 'optional',
  );
}

/** The status of success, unless a route says another. */
function statusOf(method: Method, { output, mediaTypes }: RouteOptions<z.core.$ZodType>) {
  if (!output && !mediaTypes) return 204;
  return method === 'POST' ? 201 : 200;
}

/** The first sentence, and the rest. */
function splitAfterFirstSentence(text: string): readonly [string, string] {
  const [first = text] = /^.*?\.(?=\s|$)/s.exec(text) ?? [];
  return [first, text.slice(first.length).trim()];
}

/** The same for a route whose body and answer are documents of another protocol. */
export function rawRoute<Input extends z.core.$ZodType>(row: RawRoute<Input>): RawRoute {
  // The input has been parsed by the schema of the route.
  return row;
}

/** The same for a route without an API key. */
export function keylessRoute<Input extends z.core.$ZodType, Output extends z.core.$ZodType>(
  row: KeylessRoute<Input, Output>,
): KeylessRoute {
  return row;
}

/** Whether the route needs no API key. */
export function isKeyless(row: AnyRoute): row is KeylessRoute {
  return row.access === 'keyless';
}

/** The names of the path parameters, in order. */
export function pathParameters(path: string): string[] {
  return path.split('/').flatMap((segment) => (segment.startsWith(':') ? [segment.slice(1)] : []));
}

/** The example of the answer; undefined if it has no body. */
export function outputExample({ output, examples }: Pick<AnyRoute, 'output' | 'examples'>): unknown {
  return output && (examples?.output ?? exampleOf(output));
}

/** Whether a request may change something. */
export function isWrite({ method }: Pick<AnyRoute, 'method'>): boolean {
  return method !== 'GET';
}

/** Whether the answer is a file, which a link can name. */
export const isFile = ({ answerHeaders = {} }: Pick<AnyRoute, 'answerHeaders'>): boolean =>
  Object.hasOwn(answerHeaders, 'Content-Disposition');

/** Whether the body and the answer are documents of another protocol. */
export function isRaw(row: AnyRoute): row is RawRoute {
  return 'exchange' in row;
}

/** Whether an operation takes an idempotency key. */
export function takesIdempotencyKey(row: AnyRoute): boolean {
  return isWrite(row) && !isKeyless(row) && !isRaw(row);
}

/** Whether an operation's input is in the body. */
export function takesBody({ method, optionalBody }: Pick<AnyRoute, 'method' | 'optionalBody'>): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH' || optionalBody === true;
}
