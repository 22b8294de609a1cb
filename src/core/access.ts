import { keysOf } from './keys-of.ts';
import type { Subscriptions } from './config.ts';
import { ForbiddenError, ValidationError, invalid } from './errors.ts';
import type { ApiKeyId, OrganizationId, UserId } from './ids.ts';
import { type Wording, enumValue, sentences, wording } from './text/wording.ts';

interface ScopeDeclaration {
  readonly description: string;
  /**
   * Whether the scope opens the names and addresses of other people. Scopes for programs that send events or broadcasts do not. A new scope says
   * so itself.
   */
  readonly opensPeople: boolean;
  /** Whether the role `viewer` can have it: it reads, or is for what a viewer changes of their own; such a role gives keys and apps only what reads. */
  readonly ofViewers?: 'reads' | 'own';
}

/** The scopes of API keys. A key without the scope of an operation gets 403. */
export const SCOPE_DECLARATIONS = {
  'mcp_connections.read': { description: 'See MCP connections.', opensPeople: true, ofViewers: 'reads' },
  'mcp_connections.write': { description: 'Create, change, authorize and delete MCP connections.', opensPeople: true },
  'mcp_connections.use': { description: 'Call the tools of MCP connections; for agents.', opensPeople: false },
  'webhooks.write': {
    description: 'Manage webhooks, which get everything in the feed that administrators can see; for administrators.',
    opensPeople: false,
  },
  'api_keys.read': { description: 'See API keys, never the secret.', opensPeople: true, ofViewers: 'reads' },
  'api_keys.write': { description: 'Create, rename and revoke API keys.', opensPeople: true, ofViewers: 'own' },
  'sessions.read': { description: 'Read sessions and their events.', opensPeople: true, ofViewers: 'reads' },
  'sessions.write': { description: 'Change sessions.', opensPeople: true },
  'sessions.record': { description: 'Record sessions and their events; for agent runners.', opensPeople: true },
  'organizations.write': {
    description: 'Create and change organizations and their members.',
    opensPeople: true,
    ofViewers: 'own',
  },
  'audit_log.read': {
    description:
      'Read the audit log and take it away, with the names in it; for administrators and service accounts with that role.',
    opensPeople: false,
  },
  'users.delete': { description: "Delete the caller's own account.", opensPeople: true, ofViewers: 'own' },
  'behavioral_events.event_definitions.read_write': {
    description: 'Manage event definitions.',
    opensPeople: false,
    ofViewers: 'reads',
  },
  'analytics.behavioral_events.send': { description: 'Send event occurrences.', opensPeople: false },
  scim: {
    description: 'Provision people and groups with SCIM; for service accounts with the role of an administrator.',
    opensPeople: false,
  },
  social: { description: 'Use the deprecated social publishing API.', opensPeople: false, ofViewers: 'reads' },
} as const satisfies Readonly<Record<string, ScopeDeclaration>>;
export type Scope = keyof typeof SCOPE_DECLARATIONS;
export const SCOPES = keysOf(SCOPE_DECLARATIONS);
/** The scopes that a person can have. */
export const SCOPES_OF_PEOPLE = SCOPES.filter((scope) => scope !== 'scim');

const NEVER_GRANTED: ReadonlySet<Scope> = new Set([
  'api_keys.write',
  'organizations.write',
  'users.delete',
  'webhooks.write',
  'audit_log.read',
  'scim',
  'social',
]);
/** The scopes that people can grant to front ends, which are all that they can grant. */
export const FRONT_END_SCOPES = SCOPES.filter((scope) => !NEVER_GRANTED.has(scope));

/** Those that they can grant to MCP clients and for recording. */
export const GRANTABLE_SCOPES: readonly Scope[] = [
  'sessions.read',
  'sessions.record',
  'mcp_connections.read',
  'mcp_connections.use',
  'behavioral_events.event_definitions.read_write',
  'analytics.behavioral_events.send',
];

/** From the most rights to the fewest. */
export const ROLES = ['admin', 'member', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

const OF_ADMINISTRATORS: ReadonlySet<Scope> = new Set(['audit_log.read', 'scim']);
const ofViewers = (scope: Scope) => (SCOPE_DECLARATIONS[scope] as ScopeDeclaration).ofViewers;
const OF_ROLES: Readonly<Record<Role, readonly Scope[]>> = {
  admin: SCOPES,
  member: SCOPES.filter((scope) => !OF_ADMINISTRATORS.has(scope)),
  viewer: SCOPES.filter((scope) => ofViewers(scope) !== undefined),
};
const READING = SCOPES.filter((scope) => ofViewers(scope) === 'reads');

/** The scopes that keys and apps can be given in an organization where their owner has this role. */
export const scopesOf = (role: Role): readonly Scope[] => (role === 'viewer' ? READING : OF_ROLES[role]);

/** Those of the scopes of a credential that count in the organization that it acts in. */
export function scopesWithin(scopes: ReadonlySet<Scope>, role: Role | undefined): ReadonlySet<Scope> {
  if (role === undefined || role === 'admin') return scopes;
  return new Set([...scopes].filter((scope) => OF_ROLES[role].includes(scope)));
}

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
  /** Whether the key is older than the key policy allows. */
  readonly isAged?: boolean | null;
}

/** What a row of `api_key` is: a secret key, the sign-in of a person in a browser, or the grant of a person to a client. */
export const CREDENTIAL_KINDS = ['KEY', 'SIGN_IN', 'OAUTH_GRANT'] as const;
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number];

/** The caller: a credential of a user, acting in at most one organization. */
export interface Actor {
  /** The credential: a key, or the sign-in of a browser. */
  readonly keyId: ApiKeyId;
  /** The account: of a person, or a service account. */
  readonly userId: UserId;
  readonly isServiceAccount?: boolean;
  /** By default a key. */
  readonly kind?: CredentialKind;
  /** The key that a browser was signed in with. */
  readonly signedInWithId?: ApiKeyId | null;
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

/**
 * The permissions that an operation needs, independent of its input. Both APIs check them before they read the input,
 * and the operation checks them again.
 */
export interface Access {
  /** The key needs all of these scopes. */
  readonly scopes: readonly Scope[];
  /** The key needs at least one of these scopes. */
  readonly anyScopeOf?: { readonly scopes: readonly Scope[]; readonly name: string };
  /** Whether the operation needs an acting organization; a caller without one gets 400. */
  readonly inOrganization: boolean;
  /** Whether only people can do it, and service accounts cannot. */
  readonly isForPeople?: true;
  /** The role that the caller needs in the organization: `admin`, or `member` for all but viewers. */
  readonly role?: 'admin' | 'member';
  /** The subscription that the organization needs. */
  readonly subscription?: {
    readonly isMetBy: (subscriptions: Subscriptions) => boolean;
    /** The message for a caller without it. */
    readonly message: string;
    /** The sentence in descriptions. */
    readonly description: string;
  };
}

/** The lists of scopes: a key needs all of one of them. */
export const scopesThatSuffice = ({ scopes, anyScopeOf }: Access): readonly (readonly Scope[])[] =>
  anyScopeOf ? anyScopeOf.scopes.map((scope) => [...scopes, scope]) : [scopes];

/** The requirements, as sentences for a description. */
export function describeAccess({ scopes, anyScopeOf, isForPeople, role, subscription }: Access): Wording {
  return sentences(
    scopes.map((scope) => `Needs the scope \`${scope}\`.`).join(' '),
    anyScopeOf ? `Needs any scope of ${anyScopeOf.name}.` : '',
    isForPeople ? 'Only people can do this, not service accounts.' : '',
    role === 'admin' ? wording`Needs the role \`${enumValue(role)}\`.` : '',
    subscription?.description ?? '',
  );
}

/** Any caller with a valid key. */
export const ANYBODY: Access = { scopes: [], inOrganization: false };

/**
 * Checks the access of a caller. `organizationId` is the requested organization, if it may differ from the acting one.
 * @throws ForbiddenError (403) without scope, role or subscription; ValidationError (400) if the caller acts in no
 * organization or in another one.
 */
export function requireAccess(
  actor: Actor,
  { scopes, anyScopeOf, isForPeople, inOrganization, role, subscription }: Access,
  organizationId?: OrganizationId,
): void {
  requireScopes(actor, scopes);
  if (anyScopeOf && !anyScopeOf.scopes.some((scope) => actor.scopes.has(scope)))
    throw new ForbiddenError(`the API key lacks every scope of ${anyScopeOf.name}; one of them is enough`, {
      scopes: anyScopeOf.scopes.map((scope) => [scope]),
    });
  if (isForPeople) requirePerson(actor);
  if (role === 'member' && actor.organization?.role === 'viewer') throw new ForbiddenError(VIEWERS_READ, { role });
  if (!inOrganization) return;
  const organization = requireOrganization(actor, organizationId);
  if (role === 'admin') requireAdmin(actor);
  if (subscription && !subscription.isMetBy(organization.subscriptions))
    throw new ForbiddenError(subscription.message, { subscription: true });
}

const VIEWERS_READ = 'your role in the organization is viewer, which reads and changes nothing';

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

/** @throws ForbiddenError (403) for the key of a service account. */
export function requirePerson({ isServiceAccount }: Actor): void {
  if (isServiceAccount === true)
    throw new ForbiddenError('only people can do this, and the API key is of a service account');
}

/** @throws ForbiddenError (403) that names all scopes that the caller lacks. */
export function requireScopes(actor: Actor, scopes: readonly Scope[]): void {
  const missing = scopes.filter((scope) => !actor.scopes.has(scope));
  if (missing.length === 0) return;
  if (actor.organization?.role === 'viewer' && missing.every((scope) => ofViewers(scope) === undefined))
    throw new ForbiddenError(VIEWERS_READ, { role: 'member' });
  const credential = actor.kind === 'OAUTH_GRANT' ? 'grant' : 'API key';
  const word = missing.length === 1 ? 'scope' : 'scopes';
  throw new ForbiddenError(`the ${credential} lacks the ${word} ${missing.join(', ')}`, { scopes: [missing] }, scopes);
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
  if (organization.role !== 'admin')
    throw new ForbiddenError('only administrators of the organization can do this', { role: 'admin' });
  return organization;
}

/** The nil UUID (RFC 9562, section 5.9), which no account has. */
const NO_USER: UserId = '00000000-0000-0000-0000-000000000000';

/** The actor of a command: an administrator of the organization, in the name of a user or of nobody. */
export function operatorIn(
  organization: Pick<ActingOrganization, 'id' | 'number'>,
  userId: UserId | null = null,
): Actor {
  return {
    keyId: 'command-line',
    userId: userId ?? NO_USER,
    scopes: new Set(SCOPES),
    organization: { ...organization, role: 'admin', subscriptions: {} },
    isOperator: true,
  };
}
