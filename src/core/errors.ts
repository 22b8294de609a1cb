import { type Message, inGraphQL, inRest, wording } from './text/wording.ts';
import { WORK } from './work-budget.ts';

/**
 * All errors that callers may see. `kind` decides the HTTP status, `code` is stable and machine-readable, `message` is safe to show and
 * explains how to fix the problem. Any other exception is an internal error: it is logged and never shown.
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
  remoteTimedOut: 504,
});

export type ErrorKind = keyof typeof STATUS_OF;

/** The stable codes, as in GraphQL's `ErrorCode` and `extensions.code`. */
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
  remoteTimedOut: 'REMOTE_FAILED',
} as const satisfies Record<ErrorKind, string>);

export type ErrorCode = (typeof CODE_OF)[ErrorKind] | 'TOO_MANY_AT_ONCE';

/** The rules that an input can break, with their descriptions; the same on both APIs. */
export const INPUT_FAULT_CODES = Object.freeze({
  REQUIRED: 'The value is missing, or null is not allowed.',
  UNKNOWN_FIELD: 'The field is unknown.',
  WRONG_TYPE: 'The value has the wrong type, such as text instead of a number.',
  TOO_SHORT: 'The text has fewer characters than `limit`.',
  TOO_LONG: 'The text has more characters or bytes than `limit`.',
  TOO_SMALL: 'The number or time is below `limit`.',
  TOO_LARGE: 'The number or time is above `limit`.',
  TOO_FEW: 'The list has fewer items than `limit`.',
  TOO_MANY: 'The list has more items than `limit`, or the object more levels.',
  NOT_ALLOWED: 'The value is not one of the allowed values.',
  BAD_FORMAT: 'The text does not have the required format, such as that of a URL.',
  NOT_FOUND: 'The value refers to an object that does not exist or that the caller cannot see.',
  DUPLICATE: 'The value must differ from another one.',
  CONFLICTING: 'The field cannot be combined with another one.',
});
export type InputFaultCode = keyof typeof INPUT_FAULT_CODES;

/** Reasons for a conflict to which a client can react. */
export const CONFLICT_REASONS = Object.freeze({
  NAME_TAKEN: 'The name, slug or e-mail address is in use; choose another one.',
  NAME_USED_BEFORE: 'The name belonged to another object and cannot be used again; a handle not for 30 days.',
  WRONG_STATE: 'The state of the object does not allow this.',
  LAST_ADMINISTRATOR: 'The organization would be left without an administrator.',
  LIMIT_REACHED: 'The maximum number of these objects is reached.',
  IN_USE: 'Another object refers to this one.',
  CHANGED_MEANWHILE: 'The object was changed since it was read; read it again.',
  BATCH_REUSED: 'The batch id was used for other content.',
  APPROVAL_REQUIRED: 'Another person must approve the call first; `toolApproval` is what they decide about.',
  APPROVAL_DENIED: 'The call was denied; it is not asked for again for a while.',
  HELD: 'The session is held, or the organization has held sessions; an administrator has to release them first.',
});
export type ConflictReason = keyof typeof CONFLICT_REASONS;

/** One fault: its position, the broken rule, and how to fix it. */
export interface Fault {
  readonly path: readonly string[];
  readonly code: string;
  readonly message: Message;
  /** The exceeded bound, if there is one. */
  readonly limit?: number | undefined;
  /** For objects with arbitrary keys: the key, if the key itself is invalid rather than its value. */
  readonly key?: string | undefined;
}

export interface InputFault extends Fault {
  readonly code: InputFaultCode;
}

/** An error that is shown to the caller. */
export class DomainError extends Error {
  readonly kind: ErrorKind;
  /**
   * The input field that caused the error, outermost first; empty if no single field did. Not named `path`, because graphql treats an error
   * with a `path` as already located in the answer.
   */
  readonly inputPath: readonly string[];
  /** All faults; a ValidationError may have several. */
  readonly faults: readonly Fault[];
  /** The message with the names of the GraphQL schema; `message` has those of REST. */
  readonly graphqlMessage: string;
  /** Extra response headers, such as `Allow` or `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    kind: ErrorKind,
    message: Message,
    options: {
      path?: readonly string[];
      faults?: readonly Fault[];
      headers?: Record<string, string>;
      cause?: unknown;
    } = {},
  ) {
    super(inRest(message), { cause: options.cause });
    this.graphqlMessage = inGraphQL(message);
    this.name = this.constructor.name;
    this.kind = kind;
    this.inputPath = options.path ?? [];
    this.faults = options.faults ?? [{ path: this.inputPath, code: this.code, message }];
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return STATUS_OF[this.kind];
  }

  get code(): ErrorCode {
    return CODE_OF[this.kind];
  }

  /** What the message says, in fields. */
  get details(): Readonly<Record<string, unknown>> | undefined {
    return undefined;
  }
}

/** 429: it had to wait for too long until others of the same caller, or of all callers, had ended. */
export class TooManyAtOnceError extends DomainError {
  constructor() {
    super('rateLimited', 'too many requests at once; send fewer at the same time, or try again', {
      headers: { 'Retry-After': '1' },
    });
  }

  override get code(): ErrorCode {
    return 'TOO_MANY_AT_ONCE';
  }

  override get details(): Readonly<Record<string, unknown>> {
    return { code: this.code };
  }
}

/** A class of errors that operations declare. */
export interface ErrorClass {
  new (...args: never[]): DomainError;
  readonly kind: ErrorKind;
}

/** 400: the input breaks rules. The first 20 faults are reported, and the others counted. */
export class ValidationError extends DomainError {
  static readonly kind = 'invalid';
  declare readonly faults: readonly InputFault[];
  /** The number of faults that are only counted. */
  readonly unlisted: number;

  /** @param unlisted The number of faults in addition to the given ones. */
  constructor(found: readonly InputFault[], unlisted = 0) {
    const more = Math.max(found.length - WORK.faults, 0) + unlisted;
    const faults = withCount(found, more);
    super(ValidationError.kind, describeAll(faults), { path: faults[0]?.path, faults });
    this.unlisted = more;
  }
}

/** The first faults, and how many there are in addition. */
function withCount<Found extends Fault>(faults: readonly Found[], more: number): (Found | InputFault)[] {
  const listed = faults.slice(0, WORK.faults);
  return more > 0
    ? [...listed, { path: [], code: 'TOO_MANY', message: `and ${more} more`, limit: WORK.faults }]
    : listed;
}

const describe = ({ path, message }: Pick<Fault, 'path' | 'message'>): Message =>
  path.length === 0 ? message : wording`${path.join('.')}: ${message}`;

function describeAll(faults: readonly Fault[]): Message {
  const described = faults.map(describe);
  return { rest: described.map(inRest).join('; '), graphql: described.map(inGraphQL).join('; ') };
}

/** What a caller lacks: all scopes of one of the lists, a role, a subscription. */
export interface Missing {
  readonly scopes: readonly (readonly string[])[];
  readonly role?: 'admin' | 'member';
  readonly subscription?: boolean;
}

export class ForbiddenError extends DomainError {
  static readonly kind = 'forbidden';
  /** Undefined if nothing of it would help. */
  readonly missing: Missing | undefined;
  /** The scopes that are needed, if the caller lacks some of them. */
  readonly scopes: readonly string[];

  constructor(message: Message, missing?: Partial<Missing>, scopes: readonly string[] = []) {
    super(ForbiddenError.kind, message);
    this.missing = missing && { scopes: [], ...missing };
    this.scopes = scopes;
  }

  override get details(): Readonly<Record<string, unknown>> | undefined {
    return this.missing && { missing: this.missing };
  }
}

export class NotFoundError extends DomainError {
  static readonly kind = 'notFound';
  /** The GraphQL type of the object; undefined if several are missing, or something that is no object. */
  readonly type: string | undefined;

  /** @param found The message, or one fault for each thing that is missing. */
  constructor(found: string | readonly Fault[], type?: string) {
    const faults = typeof found === 'string' ? undefined : withCount(found, found.length - WORK.faults);
    const message = typeof found === 'string' ? found : describeAll(faults ?? []);
    super(NotFoundError.kind, message, { path: faults?.[0]?.path, faults });
    this.type = type;
  }

  override get details(): Readonly<Record<string, unknown>> | undefined {
    return this.type === undefined ? undefined : { type: this.type };
  }
}

/** 409: the change conflicts with the current state. If one field causes it, the message begins with its path, as in a ValidationError. */
export class ConflictError extends DomainError {
  static readonly kind = 'conflict';
  declare readonly faults: readonly [Fault];
  readonly reason: ConflictReason;
  /** The object that was not changed, for the client that has read an older version of it. */
  readonly current: ObjectReference | undefined;
  /** The maximum number, for `LIMIT_REACHED`. */
  readonly limit: number | undefined;
  /** What somebody decides about, for `APPROVAL_REQUIRED` and `APPROVAL_DENIED`. */
  readonly toolApprovalId: string | undefined;

  constructor(
    reason: ConflictReason,
    message: Message,
    path: readonly string[] = [],
    { current, limit, toolApprovalId }: Partial<Pick<ConflictError, 'current' | 'limit' | 'toolApprovalId'>> = {},
  ) {
    super(ConflictError.kind, describe({ path, message }), { path, faults: [{ path, code: reason, message }] });
    this.reason = reason;
    this.current = current;
    this.limit = limit;
    this.toolApprovalId = toolApprovalId;
  }

  override get details(): Readonly<Record<string, unknown>> | undefined {
    const { toolApprovalId } = this;
    if (toolApprovalId !== undefined) return { code: this.reason, toolApprovalId };
    return this.limit === undefined ? undefined : { limit: this.limit };
  }
}

export const limitReached = (limit: number, message: Message, path?: readonly string[]): ConflictError =>
  new ConflictError('LIMIT_REACHED', message, path, { limit });

/** An object by the GraphQL type of its noun, and its key within it. */
export interface ObjectReference {
  readonly type: string;
  readonly key: string;
}

/** Why a remote server failed, where that is known. */
export const REMOTE_FAILURES = Object.freeze({
  UPSTREAM_UNREACHABLE: 'No connection, or the connection was lost.',
  UPSTREAM_NOT_MCP: 'The server does not answer as the protocol requires.',
  UPSTREAM_TIMEOUT: 'The server did not answer in time.',
  UPSTREAM_RATE_LIMITED: 'The server refuses more requests at present.',
  ANSWER_TOO_LARGE: 'The answer of the server is too large.',
});
export type RemoteFailureReason = keyof typeof REMOTE_FAILURES;

interface RemoteFailure {
  readonly reason?: RemoteFailureReason;
  readonly kind?: 'remoteFailed' | 'remoteTimedOut' | 'rateLimited';
  readonly headers?: Record<string, string>;
}

/** A remote MCP server or its authorization server failed: 502, 504 if it did not answer in time, 429 if it refuses more requests. The message names the cause. */
export class RemoteFailedError extends DomainError {
  static readonly kind = 'remoteFailed';

  readonly reason: RemoteFailureReason | undefined;

  constructor(
    message: string,
    cause?: unknown,
    { kind = RemoteFailedError.kind, headers = {}, reason }: RemoteFailure = {},
  ) {
    super(kind, message, { cause, headers });
    this.reason = reason;
  }

  override get details(): Readonly<Record<string, unknown>> | undefined {
    return this.reason === undefined ? undefined : { reason: this.reason };
  }
}

/** Creates an error with one fault. `path` is written with dots: `customMatchingId.primaryObjectRule`. */
export const invalid = (
  path: string,
  message: Message,
  code: InputFaultCode = 'NOT_ALLOWED',
  limit?: number,
): ValidationError => new ValidationError([{ path: path === '' ? [] : path.split('.'), code, message, limit }]);

/**
 * The same error with other positions of its faults, because each API has its own names for input fields. Faults without a field stay
 * unchanged.
 */
export function relocated(error: unknown, relocate: <Found extends Fault>(fault: Found) => Found): unknown {
  if (error instanceof ValidationError)
    return new ValidationError(error.faults.slice(0, WORK.faults).map(relocate), error.unlisted);
  if (!(error instanceof ConflictError)) return error;
  const { message, path } = relocate(error.faults[0]);
  return new ConflictError(error.reason, message, path, error);
}

/** A missing, deleted or foreign row: all three have the same message. */
export const notFound = (what: string): NotFoundError => new NotFoundError(`${what} not found`, typeNamed(what));

/** The GraphQL types of nouns with another name, or without a type. */
const TYPES = new Map<string, string | undefined>([
  ['MCP connection', 'McpServer'],
  ['delivery', 'WebhookDelivery'],
  ['invitation', 'OrganizationInvitation'],
  ['member', 'OrganizationMember'],
  ['suspended member', 'OrganizationMember'],
  ['identity provider', undefined],
  ['resource', undefined],
  ['broadcast', undefined],
]);

function typeNamed(noun: string): string | undefined {
  const words = noun.split(' ').map((word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase());
  return TYPES.has(noun) ? TYPES.get(noun) : words.join('');
}

/** A name, or another unique `field`, that `holder` has already, such as `another organization`. */
export function nameTaken(name: string, holder: string, field = 'name', path = [field]): ConflictError {
  const message = `${name} already exists as the ${field} of ${holder}; choose another ${field}`;
  return new ConflictError('NAME_TAKEN', message, path);
}

/** For a name that stays reserved after its object. */
export const nameUsedBefore = (message: string, path: readonly string[]): ConflictError =>
  new ConflictError('NAME_USED_BEFORE', message, path);

export function unauthenticated(message = 'missing or invalid API key'): DomainError {
  // RFC 6750, section 3: a 401 names the scheme that would serve.
  return new DomainError('unauthenticated', message, { headers: { 'WWW-Authenticate': 'Bearer' } });
}

/** An error and its causes, at most five, because errors can be causes of each other. Empty for anything that is not an error. */
export function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 5; cause = cause.cause) causes.push(cause);
  return causes;
}
