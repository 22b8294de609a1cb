import { type EntityManager, ForeignKeyConstraintViolationException } from '@mikro-orm/postgresql';
import { type AuditTarget, type RequestIdOrigin, auditEntry, recordAudit } from './audit.ts';
import { authorityValues, isAuthorized, isAuthorizedWithin } from './authority.ts';
import type { LiveTails, Resumption } from './live-tails.ts';
import type { Timing } from './timing.ts';
import type { Notifier } from './postgres/notifications.ts';
import type { Caches } from './caches.ts';
import type { Outbound } from './outbound/outbound.ts';
import type { SecretBox } from './secrets/secrets.ts';
import { conflictOf } from './postgres/failures.ts';
import type { RequestBudget } from './postgres/request-budget.ts';
import { type Sql, sqlWithin } from './postgres/sql.ts';
import type { KeyedQueue } from './keyed-queue.ts';
import type { Subscriptions } from './config.ts';
import { DomainError, ForbiddenError, ValidationError, invalid } from './errors.ts';
import type { ApiKeyId, OrganizationId, UserId } from './ids.ts';

/** Scopes of API keys. A key without the scope of an operation gets 403. */
export const SCOPES = [
  'mcp_connections.read',
  'mcp_connections.write',
  'api_keys.read',
  'api_keys.write',
  'sessions.read',
  'sessions.write',
  'sessions.record',
  'organizations.write',
  'users.delete',
  'behavioral_events.event_definitions.read_write',
  'analytics.behavioral_events.send',
  'social',
] as const;
export type Scope = (typeof SCOPES)[number];

export const ROLES = ['admin', 'member'] as const;
export type Role = (typeof ROLES)[number];

/** The organization that a caller acts in, with their role. */
export interface ActingOrganization {
  readonly id: OrganizationId;
  /** Sequential number, from 1; part of fully qualified event names. */
  readonly number: number;
  readonly role: Role;
  readonly subscriptions: Subscriptions;
  /** Set if the lookup of the key has read it. */
  readonly name?: string;
  readonly slug?: string | null;
}

/** The caller: the key of a user, acting in at most one organization. */
export interface Actor {
  readonly keyId: ApiKeyId;
  readonly userId: UserId;
  readonly scopes: ReadonlySet<Scope>;
  /** Undefined for an unbound key whose request names no organization, unless its user is in exactly one. */
  readonly organization: ActingOrganization | undefined;
  /** Whether the key is bound to the organization. An unbound key can act in any organization of its user, one per request. */
  readonly isBound?: boolean;
  /**
   * The position of the primary's write-ahead log when the key was looked up: reads see everything up to it, even on a replica. Null if the
   * primary was away.
   */
  readonly position?: number | null | undefined;
  /** Whether the caller uses the command line, which needs no key. */
  readonly isOperator?: boolean;
}

/** The dependencies of operations. Time and randomness are injected, so that tests can control them. */
export interface OperationContext {
  readonly em: EntityManager;
  /** Uses a replica if the request only reads and a replica has caught up, otherwise the primary. */
  readonly sql: Sql;
  /** Limits of the request: concurrent statements, and bytes read from the database. */
  readonly budget: RequestBudget;
  readonly notifier: Notifier;
  /**
   * Queues appends in this process, which would otherwise wait in the database with a connection each. Undefined if the request already has a
   * transaction.
   */
  readonly appendQueue: KeyedQueue | undefined;
  readonly actor: Actor;
  /** Looks up the key again, for long requests: it may have been revoked since the request began. */
  readonly authenticateAgain: () => Promise<Actor>;
  /** Call after a loss of rights is committed: waits until the earlier changes of these users have ended. */
  readonly settleChanges: (userIds: readonly UserId[]) => Promise<void>;
  /** Converts anything thrown after the answer has begun: an internal error is logged under the request id, and answered without details. */
  readonly toDomainError: (error: unknown) => DomainError;
  /** Aborts when nobody waits for the answer. */
  readonly signal: AbortSignal | undefined;
  /** Only for subscriptions. */
  readonly resumption?: Resumption;
  readonly requestId: string;
  readonly requestIdOrigin: RequestIdOrigin;
  /** Called with the error that refuses a GraphQL field or operation, because refused attempts are recorded in the audit log. */
  readonly onRefusal: (error: unknown, operation: string) => void;
  /** Called with the object that an operation has changed. */
  readonly onChange?: (operation: string, target: AuditTarget) => void;
  readonly now: () => Date;
  readonly newId: () => string;
  readonly timing: Timing;
  readonly liveTails: LiveTails;
  readonly settings: OperationSettings;
  /** Encrypts and decrypts stored secrets. */
  readonly secrets: SecretBox;
  /** The only way to request URLs that came from outside. */
  readonly outbound: Outbound;
  readonly caches: Caches;
}

/** The dependencies of work without a caller, such as jobs and the OAuth callback. */
export type WorkContext = Pick<
  OperationContext,
  'em' | 'sql' | 'notifier' | 'now' | 'newId' | 'settings' | 'secrets' | 'outbound' | 'caches'
>;

/** The configuration of operations. */
export interface OperationSettings {
  readonly defaultSubscriptions: Subscriptions;
  /** URL of the gateway for people and other servers, without a trailing slash. */
  readonly publicUrl: string;
  /** URL of the OAuth client metadata document, if it is not on the gateway. */
  readonly clientMetadataUrl: string | undefined;
  /** How long the deletion of an account can be canceled. */
  readonly userDeletionDelaySeconds: number;
  /** Event occurrences that an organization may send in a calendar month (UTC); 0 means no limit. */
  readonly monthlyOccurrenceLimit: number;
}

export type Operation<Input, Result> = (context: OperationContext, input: Input) => Promise<Result>;

/**
 * The permissions that an operation needs, independent of its input. Both APIs check them before they read the input, and the operation checks
 * them again.
 */
export interface Access {
  /** The key needs all of these scopes. */
  readonly scopes: readonly Scope[];
  /** The key needs at least one of these scopes. */
  readonly anyScopeOf?: { readonly scopes: readonly Scope[]; readonly name: string };
  /** Whether the operation needs an acting organization; a caller without one gets 400. */
  readonly inOrganization: boolean;
  /** The role that the caller needs in the organization. */
  readonly role?: 'admin';
  /** The subscription that the organization needs. */
  readonly subscription?: {
    readonly isMetBy: (subscriptions: Subscriptions) => boolean;
    /** The message for a caller without it. */
    readonly message: string;
    /** The sentence in descriptions. */
    readonly description: string;
  };
}

/** Any caller with a valid key. */
export const ANYBODY: Access = { scopes: [], inOrganization: false };

/** An operation that checks its access, which callers can inspect. */
export interface Guarded<Args extends readonly unknown[], Result> {
  (context: OperationContext, ...args: Args): Promise<Result>;
  readonly access: Access;
}

/** Wraps an operation so that it checks its access before anything else. */
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

export interface WriteOptions<Input, Result> {
  readonly access: Access;
  /** The name of the operation in the audit log. */
  readonly operation: string;
  /** The changed object for the audit log; undefined if nothing was changed. */
  readonly target: (result: Result, input: Input, actor: Actor) => AuditTarget | undefined;
  /** The users who lose rights. The operation is answered only after their changes that began with these rights have ended. */
  readonly endsRightsOf?: (result: Result) => readonly string[];
  /** Constraints decide races: the error for the violation of each constraint. */
  readonly conflicts?: Readonly<Record<string, (input: Input) => DomainError>>;
}

/**
 * Wraps an operation that changes something in a transaction, which also writes the audit log entry and commits before the caller is answered.
 * The transaction begins with a check of the rights of the caller. All reads use the connection of the transaction: if requests kept one
 * connection and waited for another, they could block each other.
 */
export function write<Input, Result>(
  run: Operation<Input, Result>,
  { access, operation, target, endsRightsOf, conflicts = {} }: WriteOptions<Input, Result>,
): Guarded<[Input], Result> {
  return guarded(access, async (context: OperationContext, input: Input) => {
    try {
      const written = await context.em.transactional(async (em) => {
        if (!(await isAuthorizedWithin(em, authorityValues(context)))) return LOST_AUTHORITY;
        const result = await run({ ...context, em, sql: sqlWithin(em, context.budget) }, input);
        const changed = target(result, input, context.actor);
        if (changed) await recordAudit(em, auditEntry(context, operation, changed));
        if (changed) context.onChange?.(operation, changed);
        return result;
      });
      // Only after the transaction, because this uses another connection: requests that kept their first one could block each other.
      if (written === LOST_AUTHORITY) return await refuseLostAuthority(context);
      if (endsRightsOf) await context.settleChanges(endsRightsOf(written));
      return written;
    } catch (error) {
      // If the account of the caller was deleted meanwhile, a foreign key is violated: answer 401, not 500.
      if (error instanceof ForeignKeyConstraintViolationException) await context.authenticateAgain();
      throw conflictOf(error, conflicts)?.(input) ?? error;
    }
  });
}

const LOST_AUTHORITY = Symbol('lost authority');

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

/**
 * Checks the access of a caller. `organizationId` is the requested organization, if it may differ from the acting one.
 * @throws ForbiddenError (403) without scope, role or subscription; ValidationError (400) if the caller acts in no organization or in another
 * one.
 */
export function requireAccess(
  actor: Actor,
  { scopes, anyScopeOf, inOrganization, role, subscription }: Access,
  organizationId?: OrganizationId,
): void {
  for (const scope of scopes) requireScope(actor, scope);
  if (anyScopeOf && !anyScopeOf.scopes.some((scope) => actor.scopes.has(scope)))
    throw new ForbiddenError(`the API key lacks every scope of ${anyScopeOf.name}; one of them is enough`);
  if (!inOrganization) return;
  const organization = requireOrganization(actor, organizationId);
  if (role === 'admin') requireAdmin(actor);
  if (subscription && !subscription.isMetBy(organization.subscriptions)) throw new ForbiddenError(subscription.message);
}

/** Whether {@link requireAccess} would succeed, for fields such as `viewerCanUpdate`. */
export function hasAccess(actor: Actor, access: Access, organizationId?: OrganizationId): boolean {
  try {
    requireAccess(actor, access, organizationId);
    return true;
  } catch (error) {
    if (error instanceof ForbiddenError || error instanceof ValidationError) return false;
    throw error;
  }
}

/** @throws ForbiddenError (403) if the key lacks the scope. */
export function requireScope(actor: Actor, scope: Scope): void {
  if (!actor.scopes.has(scope)) throw new ForbiddenError(`the API key lacks the scope ${scope}`);
}

/**
 * The acting organization of the caller. `organizationId` is the requested organization, if it may differ.
 * @throws ValidationError (400) if the caller acts in no organization or in another one.
 */
export function requireOrganization(actor: Actor, organizationId = actor.organization?.id): ActingOrganization {
  const { organization } = actor;
  if (organization?.id !== organizationId) {
    throw invalid(
      '',
      'a request acts in one organization: send the header X-Organization-Id with the id or slug of the organization that you want',
    );
  }
  if (!organization) throw invalid('', 'missing required organization information', 'REQUIRED');
  return organization;
}

/** @throws ForbiddenError (403) if the caller is not an administrator of the organization. */
export function requireAdmin(actor: Actor): ActingOrganization {
  const organization = requireOrganization(actor);
  if (organization.role !== 'admin') throw new ForbiddenError('only administrators of the organization can do this');
  return organization;
}
