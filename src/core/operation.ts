import { type Access, type Actor, requireAccess } from './access.ts';
import { type EntityManager, ForeignKeyConstraintViolationException } from '@mikro-orm/postgresql';
import {
  type AuditClient,
  type AuditTarget,
  type RequestIdOrigin,
  type ToolCallOutcome,
  auditEntry,
  recordAudit,
} from './audit.ts';
import { authorityValues, isAuthorized, isAuthorizedWithin } from './authority.ts';
import type { Backlog } from './backlog.ts';
import type { LiveTails, Resumption } from './live-tails.ts';
import type { ToolCallAudit } from './tool-call-audit.ts';
import type { Timing } from './timeouts.ts';
import type { Tracing } from './tracing/tracing.ts';
import type { Notifier } from './postgres/notifications.ts';
import type { Caches } from './caches.ts';
import type { McpObserver } from './mcp-observer.ts';
import type { Outbound } from './outbound/outbound.ts';
import type { SecretBox } from './secrets/secrets.ts';
import { conflictOf } from './postgres/failures.ts';
import type { RequestBudget } from './postgres/reading/request-budget.ts';
import { type Sql, sqlWithin } from './postgres/reading/sql.ts';
import type { KeyedQueue } from './concurrency.ts';
import type { Pools } from './pools.ts';
import type { OperationSettings } from './operation-settings.ts';
import { DomainError, type ErrorClass, ForbiddenError } from './errors.ts';
import type { OrganizationId, SessionId, UserId } from './ids.ts';
import type { Message } from './text/wording.ts';
import type { z } from 'zod';

/** What all requests of a gateway share. Time and randomness are injected, so that tests can control them. */
export type Services = Pick<
  OperationContext,
  | 'notifier'
  | 'appendQueue'
  | 'unfolded'
  | 'settleChanges'
  | 'toolCallAudit'
  | 'observeToolCall'
  | 'traced'
  | 'now'
  | 'storedNow'
  | 'hasOlderProcess'
  | 'newId'
  | 'timing'
  | 'liveTails'
  | 'settings'
  | 'secrets'
  | 'outbound'
  | 'mcpObserver'
  | 'caches'
  | 'pools'
>;

export interface ContextParts
  extends Services, Omit<OperationContext, keyof Services | 'with' | Added>, Partial<Pick<OperationContext, Added>> {
  /** Creates the unit of work when a change first needs it; reads need none. */
  readonly openEm: () => EntityManager;
  readonly request?: { readonly signal: AbortSignal } | undefined;
}

/** What a context has only after a change. */
type Added = 'em' | 'signal' | 'client' | 'resumption' | 'onChange' | 'onUnknownOutcome' | 'onSuccess' | 'refusal';

/**
 * The dependencies of operations, for one request. A class, so that its getters belong to no single object
 * (docs/decisions/short-lived-objects.md). Only `with` copies it: a copy by `...` has no getters, and does not compile.
 */
export class OperationContext {
  /** Uses a replica if the request only reads and a replica has caught up, otherwise the primary. */
  readonly sql: Sql;
  /** Limits of the request: concurrent statements, and bytes read from the database. */
  readonly budget: RequestBudget;
  readonly notifier: Notifier;
  /**
   * Queues appends in this process, which would otherwise wait in the database with a connection each. Undefined if the
   * request already has a transaction.
   */
  readonly appendQueue: KeyedQueue | undefined;
  /** How many events this process has appended to sessions and not folded yet. */
  readonly unfolded: Backlog<SessionId>;
  readonly actor: Actor;
  /** Looks up the key again, for long requests: it may have been revoked since the request began. With an organization, as it acts there. */
  readonly authenticateAgain: (organizationId?: OrganizationId) => Promise<Actor>;
  /** Call after a loss of rights is committed: waits until the earlier changes of these users have ended. */
  readonly settleChanges: (userIds: readonly UserId[]) => Promise<void>;
  /**
   * Converts anything thrown after the answer has begun: an internal error is logged under the request id, and answered
   * without details.
   */
  readonly toDomainError: (error: unknown) => DomainError;
  readonly toolCallAudit: ToolCallAudit;
  /** Counts a call of a tool of an MCP connection that has ended. */
  readonly observeToolCall: (call: { readonly outcome: ToolCallOutcome; readonly seconds: number }) => void;
  /** Runs work within a span, if tracing is enabled. */
  readonly traced: Tracing['span'];
  /** Only for subscriptions. */
  readonly resumption: Resumption | undefined;
  readonly requestId: string;
  readonly requestIdOrigin: RequestIdOrigin;
  /** Called with the error that refuses a GraphQL field or operation, because refused attempts are recorded in the audit log. */
  readonly onRefusal: (error: unknown, operation: string) => void;
  /** Called with the object that an operation has changed, or found unchanged. */
  readonly onChange: ((operation: string, target: AuditTarget) => void) | undefined;
  /** Called by an operation that fails although it may have taken effect elsewhere, so that a retry does not run it again. */
  readonly onUnknownOutcome: (() => void) | undefined;
  /** Called when the operation of a mutation has succeeded, because typed errors are data, too. */
  readonly onSuccess: (() => void) | undefined;
  /** The reason why the mutation is refused, for any input. */
  readonly refusal: DomainError | undefined;
  readonly now: () => Date;
  /** The time of the database: for what is deleted by age, whatever the clock of the process says. */
  readonly storedNow: () => Promise<Date>;
  /** Whether a process of a version before this one is connected. Nothing that it needs to read changes meanwhile. */
  readonly hasOlderProcess: (since: string) => Promise<boolean>;
  readonly newId: () => string;
  readonly timing: Timing;
  readonly liveTails: LiveTails;
  readonly settings: OperationSettings;
  /** Encrypts and decrypts stored secrets. */
  readonly secrets: SecretBox;
  /** The only way to request URLs that came from outside. */
  readonly outbound: Outbound;
  readonly mcpObserver: McpObserver;
  readonly caches: Caches;
  /** What runs at once. */
  readonly pools: Pools;
  readonly #parts: ContextParts;
  #em: EntityManager | undefined;
  readonly #signal: AbortSignal | undefined;

  constructor(parts: ContextParts) {
    this.sql = parts.sql;
    this.budget = parts.budget;
    this.notifier = parts.notifier;
    this.appendQueue = parts.appendQueue;
    this.unfolded = parts.unfolded;
    this.actor = parts.actor;
    this.authenticateAgain = parts.authenticateAgain;
    this.settleChanges = parts.settleChanges;
    this.toDomainError = parts.toDomainError;
    this.toolCallAudit = parts.toolCallAudit;
    this.observeToolCall = parts.observeToolCall;
    this.traced = parts.traced;
    this.resumption = parts.resumption;
    this.requestId = parts.requestId;
    this.requestIdOrigin = parts.requestIdOrigin;
    this.onRefusal = parts.onRefusal;
    this.onChange = parts.onChange;
    this.onUnknownOutcome = parts.onUnknownOutcome;
    this.onSuccess = parts.onSuccess;
    this.refusal = parts.refusal;
    this.now = parts.now;
    this.storedNow = parts.storedNow;
    this.hasOlderProcess = parts.hasOlderProcess;
    this.newId = parts.newId;
    this.timing = parts.timing;
    this.liveTails = parts.liveTails;
    this.settings = parts.settings;
    this.secrets = parts.secrets;
    this.outbound = parts.outbound;
    this.mcpObserver = parts.mcpObserver;
    this.caches = parts.caches;
    this.pools = parts.pools;
    this.#parts = parts;
    this.#em = parts.em;
    this.#signal = parts.signal;
  }

  get em(): EntityManager {
    return (this.#em ??= this.#parts.openEm());
  }

  /** For entries of the audit log. */
  get client(): AuditClient | undefined {
    return this.#parts.client;
  }

  /** Aborts when nobody waits for the answer. */
  get signal(): AbortSignal | undefined {
    return this.#signal ?? this.#parts.request?.signal;
  }

  with(changes: Partial<Omit<ContextParts, 'openEm' | 'request'>>): OperationContext {
    return new OperationContext({ ...this.#parts, em: this.#em, signal: this.#signal, ...changes });
  }
}

/** The dependencies of work without a caller, such as jobs and the OAuth callback. */
export type WorkContext = Pick<
  OperationContext,
  | 'em'
  | 'sql'
  | 'notifier'
  | 'now'
  | 'storedNow'
  | 'hasOlderProcess'
  | 'newId'
  | 'settings'
  | 'secrets'
  | 'outbound'
  | 'mcpObserver'
  | 'caches'
  | 'pools'
>;

/** An operation that checks its access, which callers can inspect. */
export interface Guarded<Args extends readonly unknown[], Result> {
  (context: OperationContext, ...args: Args): Promise<Result>;
  readonly access: Access;
}

/** Wraps what only one API has, such as the rows with given ids or a live stream, so that it checks its access before anything else. */
export function guarded<Args extends readonly unknown[], Result>(
  access: Access,
  run: (context: OperationContext, ...args: Args) => Promise<Result>,
): Guarded<Args, Result> {
  const checked = async (context: OperationContext, ...args: Args) => {
    requireAccess(context.actor, access);
    return run(context, ...args);
  };
  return Object.assign(checked, { access });
}

/** The result of an operation that found nothing to change. */
class Unchanged<Result> {
  readonly result: Result;
  constructor(result: Result) {
    this.result = result;
  }
}

/** A change returns its result in this if it changed nothing: no audit log entry is written then. */
export const unchanged = <Result>(result: Result): Unchanged<Result> => new Unchanged(result);

/** What both APIs publish about an operation. */
export interface Declaration<Input = unknown> {
  /** The name in the audit log, of the GraphQL mutation, and the `operationId` of REST. */
  readonly name: string;
  /** Its first sentence is the summary in OpenAPI. The requirements of `access` are added. */
  readonly description: Message;
  readonly access: Access;
  /**
   * The schema of its input, with the bounds, defaults and descriptions. Lists have one for each API instead, because
   * GraphQL nests their filter.
   */
  readonly input?: z.core.$ZodType<Input>;
  /** Its errors in addition to those of every operation: invalid input, and refused access. */
  readonly errors?: readonly ErrorClass[];
  /** Whether it calls other servers or makes many transactions, so that none may be open around it. */
  readonly callsOut?: boolean;
  /** Whether it takes effect elsewhere and cannot be repeated: a retry with the same `Idempotency-Key` never runs it again. */
  readonly isAtMostOnce?: boolean;
}

/** An operation with its declaration. `More` are arguments that only one of the APIs gives, such as the selected columns. */
export interface DeclaredOperation<Input, Result, More extends readonly unknown[] = []> extends Guarded<
  [input: Input, ...more: More],
  Result
> {
  readonly declaration: Declaration<Input>;
}

/** An operation that runs by itself: a read, or a change that makes its own transactions. */
interface Direct<Input, Result, More extends readonly unknown[]> extends Declaration<Input> {
  readonly run: (context: OperationContext, input: Input, ...more: More) => Promise<Result>;
}

/**
 * An operation that changes something in a transaction, which also writes the audit log entry and commits before the
 * caller is answered. The transaction begins with a check of the rights of the caller. All reads use the connection of
 * the transaction: if requests kept one connection and waited for another, they could block each other.
 */
interface Change<Input, Prepared, Written, Result> extends Declaration<Input> {
  /** What comes before the transaction, such as calls of other servers. */
  readonly prepare?: (context: OperationContext, input: Input) => Promise<Prepared>;
  readonly run: (context: OperationContext, input: Input, prepared: Prepared) => Promise<Written | Unchanged<Written>>;
  /** The object for the audit log. */
  readonly target: (written: Written, input: Input, actor: Actor) => AuditTarget;
  /** The users who lose rights. The operation is answered only after their changes that began with these rights have ended. */
  readonly endsRightsOf?: (written: Written) => readonly string[];
  /** Whether viewers can do it in the organization, too: it is about the caller alone. */
  readonly isOfViewers?: true;
  /** Called with the error after the transaction was rolled back. */
  readonly afterRefusal?: (context: OperationContext, error: unknown) => Promise<void>;
  /** Constraints decide races: the error for the violation of each constraint. */
  readonly conflicts?: Readonly<Record<string, (input: Input) => DomainError>>;
  /** Makes the result in the transaction, in place of what `run` returns: reads the object again, as the list of its noun answers it. */
  readonly answer?: (context: OperationContext, written: Written) => Promise<Result>;
  /** Makes the result after the commit, in place of what `run` returns. */
  readonly afterCommit?: (context: OperationContext, written: Written, input: Input) => Promise<Result>;
}

/**
 * Declares an operation once for both APIs: `mutation` and `route` take its name, texts, access, errors and input from
 * here. With a `target` for the audit log, `run` is a change in a transaction.
 */
export function defineOperation<Input, Written, Result = Written, Prepared = undefined>(
  definition: Change<Input, Prepared, Written, Result>,
): DeclaredOperation<Input, Result>;
export function defineOperation<Input, Result, More extends readonly unknown[] = []>(
  definition: Direct<Input, Result, More>,
): DeclaredOperation<Input, Result, More>;
export function defineOperation<Input, Written>(
  definition: Direct<Input, Written, []> | Change<Input, unknown, Written, unknown>,
): DeclaredOperation<Input, unknown> {
  const { name, description, input, errors, callsOut, isAtMostOnce } = definition;
  const isRefusedToViewers = 'target' in definition && !definition.isOfViewers && definition.access.inOrganization;
  const access: Access = isRefusedToViewers ? { role: 'member', ...definition.access } : definition.access;
  return Object.assign(guarded(access, 'target' in definition ? changing(definition) : definition.run), {
    declaration: { name, description, access, input, errors, callsOut, isAtMostOnce },
  });
}

function changing<Input, Prepared, Written, Result>(
  change: Change<Input, Prepared, Written, Result>,
): (context: OperationContext, input: Input) => Promise<Written | Result> {
  const { prepare, afterCommit, callsOut = false } = change;
  return async (context, input) => {
    const { budget, pools } = context;
    const preparing = async () => prepare?.(context, input);
    // Without `prepare` the type of `run` is that of undefined.
    const prepared = (await (callsOut ? budget.callOut(pools.calls, preparing) : preparing())) as Prepared;
    const { written, answer } = await commit(change, context, input, prepared);
    if (!afterCommit) return answer ?? written;
    const ending = () => afterCommit(context, written, input);
    // Without a slot for calls, because nothing may be refused any more.
    return callsOut ? budget.waiting(ending) : ending();
  };
}

async function commit<Input, Prepared, Written, Result>(
  { name, run, target, answer, endsRightsOf, afterRefusal, conflicts = {} }: Change<Input, Prepared, Written, Result>,
  context: OperationContext,
  input: Input,
  prepared: Prepared,
): Promise<{ readonly written: Written; readonly answer: Result | undefined }> {
  try {
    context.budget.requireRoom();
    const outcome = await transact(context, async (inner) => {
      const { em } = inner;
      const returned = await run(inner, input, prepared);
      const isChanged = !(returned instanceof Unchanged);
      const written = returned instanceof Unchanged ? returned.result : returned;
      const about = target(written, input, context.actor);
      if (isChanged) await recordAudit(em, auditEntry(context, name, about));
      context.onChange?.(name, about);
      // What the answer reads must have been written.
      if (answer) await em.flush();
      return { written, answer: await answer?.(inner, written) };
    });
    if (endsRightsOf) await context.settleChanges(endsRightsOf(outcome.written));
    return outcome;
  } catch (error) {
    // If the account of the caller was deleted meanwhile, a foreign key is violated: answer 401, not 500.
    if (error instanceof ForeignKeyConstraintViolationException) await context.authenticateAgain();
    await afterRefusal?.(context, error);
    throw conflictOf(error, conflicts)?.(input) ?? error;
  }
}

const LOST_AUTHORITY = Symbol('lost authority');

/** Runs a part of a change in a transaction, which begins with a check of the rights of the caller. @throws what `refuseLostAuthority` throws. */
export async function transact<Result>(
  context: OperationContext,
  run: (inner: OperationContext) => Promise<Result>,
): Promise<Result> {
  const result = await context.em.transactional(async (em) => {
    if (!(await isAuthorizedWithin(em, authorityValues(context)))) return LOST_AUTHORITY;
    return run(context.with({ em, sql: sqlWithin(em, context.budget) }));
  });
  // Only after the transaction, because this uses another connection: requests that kept their first one could block each other.
  return result === LOST_AUTHORITY ? refuseLostAuthority(context) : result;
}

/** Call if a change was not made: the caller may have lost the rights. @throws what `refuseLostAuthority` throws, in that case. */
export async function requireAuthority(context: OperationContext): Promise<void> {
  if (!(await isAuthorized(context.sql.primary, authorityValues(context)))) await refuseLostAuthority(context);
}

/** @throws DomainError 401 if the key is no longer valid, otherwise ForbiddenError (403). */
export async function refuseLostAuthority({ authenticateAgain }: OperationContext): Promise<never> {
  try {
    await authenticateAgain();
  } catch (error) {
    if (!(error instanceof DomainError) || error.kind === 'unauthenticated') throw error;
  }
  throw new ForbiddenError(
    'your membership or role in the organization changed while the request was under way; send it again',
  );
}
