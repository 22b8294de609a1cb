import type { z } from 'zod';
import type { HttpAnswer, HttpRequest } from './messages.ts';
import type { Access, OperationContext } from '../operation.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** What every row of the REST table has: where it answers, which operation it calls, and exactly what leaves. */
interface RouteBase<Input extends z.ZodType, Output extends z.ZodType> {
  readonly method: Method;
  /** Segments that start with `:` are parameters. */
  readonly path: string;
  /** Further paths that answer the same, for older clients. OpenAPI lists `path` alone. */
  readonly aliases?: readonly string[];
  /** The operation's name, the same as its GraphQL mutation's. */
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** What the operation takes: parameters of the path and, for GET and DELETE, of the query, else properties of the body, all in one. */
  readonly input: Input;
  /** The documented document; absent where the answer has no body. */
  readonly output?: Output;
  readonly status: 200 | 201 | 202 | 204;
  /** The errors that this operation itself can answer; those of every request (401, 403 …) are added. */
  readonly errors: readonly number[];
  /** Whether the body may be absent. A DELETE that says so takes its input from the body, not from the query. */
  readonly optionalBody?: boolean;
  /** Whether the operation asks other servers, so that no transaction may be open around it. */
  readonly callsOut?: boolean;
  /** Headers that `respond` reads from the request, as OpenAPI describes parameters. */
  readonly headerParameters?: readonly {
    readonly name: string;
    readonly description: string;
    readonly schema: object;
  }[];
  /** Headers that some answers of `respond` carry, as OpenAPI describes headers. */
  readonly answerHeaders?: Readonly<Record<string, { readonly description: string; readonly schema: object }>>;
  /** Headers that every answer carries, such as those of a deprecation. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What OpenAPI shows of a body and of an answer. Every operation that takes or answers one has it. */
  readonly examples?: { readonly input?: object; readonly output?: z.input<Output> };
  /** Describes each media type beside JSON. */
  readonly mediaTypes?: Readonly<Record<string, string>>;
}

/** A row whose requests carry an API key. */
export interface Route<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType> extends RouteBase<
  Input,
  Output
> {
  /** That of the operation: checked before the input is read. */
  readonly access: Access;
  readonly run: (context: OperationContext, input: z.output<Input>) => Promise<z.input<Output> | void>;
  /** Answers in place of `run` where the document is made as text, or streamed. */
  readonly respond?: (context: OperationContext, input: z.output<Input>, request: HttpRequest) => Promise<HttpAnswer>;
}

/** A row that needs no API key, because the credential is in its input. It takes no idempotency key, which belongs to a user. */
export interface KeylessRoute<
  Input extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
> extends RouteBase<Input, Output> {
  readonly access: 'keyless';
  readonly run: (context: PublicContext, input: z.output<Input>) => Promise<z.input<Output> | void>;
}

export type AnyRoute = Route | KeylessRoute;

/** What works without a caller: everything that an operation has, but nobody on whose behalf. */
export type PublicContext = Omit<
  OperationContext,
  | 'actor'
  | 'authenticateAgain'
  | 'onRefusal'
  | 'settleChanges'
  | 'toDomainError'
  | 'appendQueue'
  | 'timing'
  | 'liveTails'
  | 'budget'
> & {
  /** The user that the browser is signed in as; undefined without a valid cookie, wherever the request comes from. */
  readonly signedInUserId: () => Promise<string | undefined>;
};

/** A page for which no key is needed, because its query or its form carries what permits it. */
export interface PublicPage {
  readonly path: string;
  /** Names it in logs and metrics. */
  readonly operationId: string;
  /** Answers GET. */
  readonly answer: (context: PublicContext, query: URLSearchParams) => Promise<HttpAnswer>;
  /** Answers POST of its form, unless another site sent it. */
  readonly submit?: (context: PublicContext, form: URLSearchParams) => Promise<HttpAnswer>;
}

/** Keeps the types of input and output together while a row is written, and lets them go for the table. */
export function route<Input extends z.ZodType, Output extends z.ZodType>(row: Route<Input, Output>): Route {
  return row;
}

/** The same for a row that needs no API key. */
export function keylessRoute<Input extends z.ZodType, Output extends z.ZodType>(
  row: KeylessRoute<Input, Output>,
): KeylessRoute {
  return row;
}

/** Whether requests of the route need no API key. */
export function isKeyless(row: AnyRoute): row is KeylessRoute {
  return row.access === 'keyless';
}

/** Marks a property of an answer that no request takes, so that clients leave it out of what they send back. */
export function readOnly<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ readOnly: true });
}

/** Names of the path's parameters, in order. */
export function pathParameters(path: string): string[] {
  return path.split('/').flatMap((segment) => (segment.startsWith(':') ? [segment.slice(1)] : []));
}

/** Whether an operation changes something, and so takes an idempotency key. */
export function isWrite({ method }: Pick<Route, 'method'>): boolean {
  return method !== 'GET';
}

/** Whether an operation's input is in the body. */
export function takesBody({ method, optionalBody }: Pick<Route, 'method' | 'optionalBody'>): boolean {
  return method === 'POST' || method === 'PATCH' || optionalBody === true;
}
