import { type EntityManager, ForeignKeyConstraintViolationException } from '@mikro-orm/postgresql';
import { type AuditTarget, type RequestIdOrigin, auditEntry, recordAudit } from './audit.ts';
import { authorityValues, isAuthorized, isAuthorizedWithin } from './authority.ts';
import type { LiveTails, Resumption } from './live-tails.ts';
import type { Timing } from './timing.ts';
import type { Notifier } from './postgres/notifications.ts';
import type { Outbound } from './outbound/outbound.ts';
import type { SecretBox } from './secrets/secrets.ts';
import { conflictOf } from './postgres/failures.ts';
import type { RequestBudget } from './postgres/request-budget.ts';
import { type Sql, sqlWithin } from './postgres/sql.ts';
import type { KeyedQueue } from './keyed-queue.ts';
import type { Subscriptions } from './config.ts';
import { DomainError, ForbiddenError, ValidationError, invalid } from './errors.ts';
import type { ApiKeyId, OrganizationId, UserId } from './ids.ts';

/** What a key may do. A key without the scope of an operation gets 403. */
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

/** The organization a caller acts in, and as what. */
export interface ActingOrganization {
  readonly id: OrganizationId;
  /** Counts organizations from 1; appears in fully qualified event names. */
  readonly number: number;
  readonly role: Role;
  readonly subscriptions: Subscriptions;
  /** What the lookup of the key has found, too, where there was one. */
  readonly name?: string;
  readonly slug?: string | null;
}

/** Who calls: a key of a user, acting in at most one organization. */
export interface Actor {
  readonly keyId: ApiKeyId;
  readonly userId: UserId;
  readonly scopes: ReadonlySet<Scope>;
  /** Undefined for an unbound key whose request names no organization, unless its user has exactly one. */
  readonly organization: ActingOrganization | undefined;
  /** Whether the key is bound to the organization. An unbound key acts in any organization of its user, one for each request. */
  readonly isBound?: boolean;
  /**
   * Where the database's log ended when the key was looked up: what was written by then is read, also on a replica. Null when the primary was
   * away then.
   */
  readonly position?: number | null | undefined;
  /** Somebody at the command line, who needs no key. */
  readonly isOperator?: boolean;
}

/** What operations work with. Time and randomness come in through here, so that tests can hold them still. */
export interface OperationContext {
  readonly em: EntityManager;
  /** Reads on a replica where the request only reads and one has caught up; else on the primary. */
  readonly sql: Sql;
  /** What the request may take of the database: statements at once, and bytes. */
  readonly budget: RequestBudget;
  readonly notifier: Notifier;
  /** For what would else wait in the database, and hold a connection there. Undefined where the request has a transaction, and so one, already. */
  readonly appendQueue: KeyedQueue | undefined;
  readonly actor: Actor;
  /** Who the caller is now: a key may have been revoked since the request began. For requests that go on for long. */
  readonly authenticateAgain: () => Promise<Actor>;
  /** Once a loss of rights is committed: waits until the changes are over that these users began before. */
  readonly settleChanges: (userIds: readonly UserId[]) => Promise<void>;
  /**
   * What the caller learns of anything thrown, where the answer has begun already: an internal error is logged under the request id, and answered
   * without detail.
   */
  readonly toDomainError: (error: unknown) => DomainError;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal | undefined;
  /** Of a subscription alone. */
  readonly resumption?: Resumption;
  readonly requestId: string;
  readonly requestIdOrigin: RequestIdOrigin;
  /** To be called with whatever refuses a field or an operation of GraphQL: refused attempts are recorded in the audit log. */
  readonly onRefusal: (error: unknown, operation: string) => void;
  /** To be called with what an operation has changed. */
  readonly onChange?: (operation: string, target: AuditTarget) => void;
  readonly now: () => Date;
  readonly newId: () => string;
  readonly timing: Timing;
  readonly liveTails: LiveTails;
  readonly settings: OperationSettings;
  /** Opens and seals stored secrets. */
  readonly secrets: SecretBox;
  /** The one way to addresses that came from outside. */
  readonly outbound: Outbound;
}

/** What work needs, whoever asks for it: a job, or the callback of an authorization, has no actor. */
export type WorkContext = Pick<
  OperationContext,
  'em' | 'sql' | 'notifier' | 'now' | 'newId' | 'settings' | 'secrets' | 'outbound'
>;

/** The part of the configuration that operations decide by. */
export interface OperationSettings {
  readonly defaultSubscriptions: Subscriptions;
  /** Where people and other servers reach the gateway, without a slash at the end. */
  readonly publicUrl: string;
  /** Where authorization servers read what client this is, if not at the gateway itself. */
  readonly clientMetadataUrl: string | undefined;
  /** How long the deletion of an account can be called off. */
  readonly userDeletionDelaySeconds: number;
  /** Event occurrences that an organization may send in a calendar month (UTC); 0 is no limit. */
  readonly monthlyOccurrenceLimit: number;
}

export type Operation<Input, Result> = (context: OperationContext, input: Input) => Promise<Result>;

/**
 * What an operation needs of its caller, whatever its input is. Both APIs check it before they read the input, and the operation checks it
 * itself.
 */
export interface Access {
  /** The scopes that the key needs, all of them. */
  readonly scopes: readonly Scope[];
  /** Scopes of which the key needs one, whichever. */
  readonly anyScopeOf?: { readonly scopes: readonly Scope[]; readonly name: string };
  /** Whether it works in the acting organization; 400 for a caller without one. */
  readonly inOrganization: boolean;
  /** The role that the caller needs there. */
  readonly role?: 'admin';
  /** The subscription that the organization needs. */
  readonly subscription?: {
    readonly isMetBy: (subscriptions: Subscriptions) => boolean;
    /** What a caller without it is answered. */
    readonly message: string;
    /** The sentence of a description. */
    readonly description: string;
  };
}

/** What needs nothing but a key. */
export const ANYBODY: Access = { scopes: [], inOrganization: false };

/** An operation that checks its access, and shows what it is. */
export interface Guarded<Args extends readonly unknown[], Result> {
  (context: OperationContext, ...args: Args): Promise<Result>;
  readonly access: Access;
}

/** An operation that checks what it needs of its caller before it does anything. */
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
  /** What the audit log says was changed; undefined when nothing was. */
  readonly target: (result: Result, input: Input, actor: Actor) => AuditTarget | undefined;
  /** The users who lose rights by it: it is not answered before the changes are over that they began with these rights. */
  readonly endsRightsOf?: (result: Result) => readonly string[];
  /** Constraints decide races: for each that may be violated, the error it means. */
  readonly conflicts?: Readonly<Record<string, (input: Input) => DomainError>>;
}

/**
 * Wraps an operation that changes something: one transaction, with its entry in the audit log, flushed and committed before the caller is
 * answered. It begins with the rights of the caller as they are then. All that it reads is read by the transaction: who kept its connection and
 * asked for another one would wait for others who do the same.
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
      // Only now: it asks on another connection, and many who kept one each meanwhile would wait for each other.
      if (written === LOST_AUTHORITY) return await refuseLostAuthority(context);
      if (endsRightsOf) await context.settleChanges(endsRightsOf(written));
      return written;
    } catch (error) {
      // Where the account of the caller was deleted meanwhile, that is why a row refers to nothing: 401, not 500.
      if (error instanceof ForeignKeyConstraintViolationException) await context.authenticateAgain();
      throw conflictOf(error, conflicts)?.(input) ?? error;
    }
  });
}

const LOST_AUTHORITY = Symbol('lost authority');

/** For a change that was not made, which may be why. @throws DomainError as `refuseLostAuthority`, where the caller's rights are gone. */
export async function requireAuthority(context: OperationContext): Promise<void> {
  if (!(await isAuthorized(context.sql.primary, authorityValues(context)))) await refuseLostAuthority(context);
}

/** @throws DomainError 401 where the key is no longer good; else ForbiddenError (403). */
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
 * `organizationId` is the one that is asked for, where the caller may know others beside the one they act in.
 * @throws ForbiddenError (403) without scope, role or subscription; ValidationError (400) when the caller acts in no organization, or another.
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

/** Whether {@link requireAccess} lets the caller through; for fields that say what the viewer may do. */
export function hasAccess(actor: Actor, access: Access, organizationId?: OrganizationId): boolean {
  try {
    requireAccess(actor, access, organizationId);
    return true;
  } catch (error) {
    if (error instanceof ForbiddenError || error instanceof ValidationError) return false;
    throw error;
  }
}

/** @throws ForbiddenError (403) when the key lacks the scope. */
export function requireScope(actor: Actor, scope: Scope): void {
  if (!actor.scopes.has(scope)) throw new ForbiddenError(`the API key lacks the scope ${scope}`);
}

/**
 * The organization that the caller acts in. `organizationId` is the one that is asked for, where the caller may know others beside it.
 * @throws ValidationError (400) when they act in none, or in another.
 */
export function requireOrganization(actor: Actor, organizationId = actor.organization?.id): ActingOrganization {
  const { organization } = actor;
  if (organization?.id !== organizationId) {
    throw invalid(
      '',
      'a request acts in one organization: send the header X-Organization-Id with the id or slug of this one',
    );
  }
  if (!organization) throw invalid('', 'missing required organization information', 'REQUIRED');
  return organization;
}

/** @throws ForbiddenError (403) when the caller is not an admin of the organization. */
export function requireAdmin(actor: Actor): ActingOrganization {
  const organization = requireOrganization(actor);
  if (organization.role !== 'admin') throw new ForbiddenError('only an admin of the organization may do this');
  return organization;
}
