/**
 * One family of errors. `kind` decides the HTTP status from one frozen table, `code` is stable and machine-readable, `message` is safe
 * to show to the caller and says how to mend what is wrong. Anything else that is thrown is an internal failure: logged, never shown.
 */

/** The HTTP status (RFC 9110, section 15) of each kind of error. */
export const STATUS_OF = Object.freeze({
  invalid: 400,
  answerTooLarge: 400,
  unauthenticated: 401,
  forbidden: 403,
  notFound: 404,
  methodNotAllowed: 405,
  conflict: 409,
  gone: 410,
  tooLarge: 413,
  unsupportedMediaType: 415,
  rateLimited: 429,
  internal: 500,
  remoteFailed: 502,
  unavailable: 503,
});

export type ErrorKind = keyof typeof STATUS_OF;

/** The stable codes, as GraphQL's `ErrorCode` and `extensions.code` spell them. */
export const CODE_OF = Object.freeze({
  invalid: 'INVALID_INPUT',
  answerTooLarge: 'ANSWER_TOO_LARGE',
  unauthenticated: 'UNAUTHENTICATED',
  forbidden: 'FORBIDDEN',
  notFound: 'NOT_FOUND',
  methodNotAllowed: 'METHOD_NOT_ALLOWED',
  conflict: 'CONFLICT',
  gone: 'GONE',
  tooLarge: 'TOO_LARGE',
  unsupportedMediaType: 'UNSUPPORTED_MEDIA_TYPE',
  rateLimited: 'RATE_LIMITED',
  internal: 'INTERNAL',
  remoteFailed: 'REMOTE_FAILED',
  unavailable: 'UNAVAILABLE',
} satisfies Record<ErrorKind, string>);

export type ErrorCode = (typeof CODE_OF)[ErrorKind];

/** One fault of an input: where it is, which rule it broke, and how to mend it. */
export interface Fault {
  readonly path: readonly string[];
  readonly code: string;
  readonly message: string;
}

/** Anything that the caller is told about. */
export class DomainError extends Error {
  readonly kind: ErrorKind;
  /**
   * The input field that caused it, outermost first; empty when no single field did. Not named `path`: graphql takes an error that has a path
   * for one that knows its place in the answer.
   */
  readonly inputPath: readonly string[];
  /** What is wrong, place by place: a ValidationError may have several. */
  readonly faults: readonly Fault[];
  /** Extra response headers, such as `Allow` or `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    kind: ErrorKind,
    message: string,
    options: {
      path?: readonly string[];
      faults?: readonly Fault[];
      headers?: Record<string, string>;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = this.constructor.name;
    this.kind = kind;
    this.inputPath = options.path ?? [];
    this.faults = options.faults ?? [{ path: this.inputPath, code: this.code.toLowerCase(), message }];
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return STATUS_OF[this.kind];
  }

  get code(): ErrorCode {
    return CODE_OF[this.kind];
  }
}

/** 400: the input breaks rules; every fault found is reported. */
export class ValidationError extends DomainError {
  constructor(faults: readonly Fault[]) {
    super('invalid', faults.map(describe).join('; '), { path: faults[0]?.path, faults });
  }
}

function describe(fault: Fault): string {
  return fault.path.length === 0 ? fault.message : `${fault.path.join('.')}: ${fault.message}`;
}

export class ForbiddenError extends DomainError {
  constructor(message: string) {
    super('forbidden', message);
  }
}

export class NotFoundError extends DomainError {
  /** @param found The message, or one fault for each thing that is missing. */
  constructor(found: string | readonly Fault[]) {
    const message = typeof found === 'string' ? found : found.map(describe).join('; ');
    super('notFound', message, typeof found === 'string' ? {} : { path: found[0]?.path, faults: found });
  }
}

/** 409: the change does not fit the present state. Where one field causes it, the message begins with its path, as that of a ValidationError. */
export class ConflictError extends DomainError {
  constructor(message: string, path: readonly string[] = []) {
    const fault = { path, code: CODE_OF.conflict.toLowerCase(), message };
    super('conflict', describe(fault), { path, faults: [fault] });
  }
}

/** 502: a remote MCP server, or the authorization server it relies on, failed; the message names the cause. */
export class RemoteFailedError extends DomainError {
  constructor(message: string, cause?: unknown) {
    super('remoteFailed', message, { cause });
  }
}

/** One fault, as an error to throw. `path` is written with dots: `customMatchingId.primaryObjectRule`. */
export function invalid(path: string, message: string, code = 'invalid'): ValidationError {
  return new ValidationError([{ path: path === '' ? [] : path.split('.'), code, message }]);
}

/** A row that is missing, deleted, or of someone else: one message for the three. */
export function notFound(what: string): NotFoundError {
  return new NotFoundError(`${what} not found`);
}

export function unauthenticated(message = 'missing or invalid API key'): DomainError {
  // RFC 6750, section 3: a 401 names the scheme that would serve.
  return new DomainError('unauthenticated', message, { headers: { 'WWW-Authenticate': 'Bearer' } });
}
