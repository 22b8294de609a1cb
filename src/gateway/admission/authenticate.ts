import type { Logger } from 'pino';
import type { HttpHeaders, HttpRequest } from '../../core/http/messages.ts';
import { FRONT_END_RESOURCE, isFrontEndPath, resourceOf } from '../../core/http/mcp-addresses.ts';
import { DomainError, ForbiddenError, NotFoundError, invalid, unauthenticated } from '../../core/errors.ts';
import { type ActingOrganization, type Actor, scopesWithin } from '../../core/access.ts';
import { isWellFormedApiKey, isWellFormedSecret, noteKeyUse } from '../../domains/api-keys/public.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { ORGANIZATION_HEADER } from '../request-headers.ts';
import type { ApiKeyLookup, KnownKey } from './api-key-lookup.ts';
import type { Sender } from './rate-limits.ts';
import type { BrowserSessions } from './browser-session.ts';

export interface AuthenticationParts {
  readonly keys: ApiKeyLookup;
  readonly browserSessions: BrowserSessions;
  /** The public address of the gateway, which the resources of access tokens begin with. */
  readonly publicUrl: () => string;
  readonly sql: Sql;
  readonly now: () => Date;
  readonly log: Pick<Logger, 'warn'>;
}

const ASLEEP =
  'the owner of this key has not signed in with the identity provider for too long: sign in on the page /sign-in of this gateway, then try again';

const NO_KEY = 'missing API key; send the header Authorization: Bearer <key>';

/** 401: the key is missing or invalid. Callers cannot see what is wrong with a key that they sent; the audit log records what is known about the key. */
export class RefusedKeyError extends DomainError {
  readonly known: KnownKey | undefined;

  constructor(known: KnownKey | undefined, reason = known?.refusal === 'key_asleep' ? ASLEEP : undefined) {
    const { message, headers } = unauthenticated(reason);
    super('unauthenticated', message, { headers });
    this.known = known;
  }

  get isAsleep(): boolean {
    return this.known?.refusal === 'key_asleep';
  }
}

/** What a caller is found by. The path decides which access tokens are accepted. */
export interface AuthenticatedRequest {
  readonly headers: HttpHeaders;
  readonly path: string;
  /** Instead of that of the header, such as that of the query. */
  readonly organizationId?: string | undefined;
}

/**
 * Finds the caller by the `Authorization` header (RFC 6750, section 2.1), or without it by the cookie of a signed-in
 * browser. Malformed, unknown, expired and revoked keys get the same answer; a malformed key costs no query.
 * The key is looked up on every request, so that a revoked key is refused at once in every process. `onKey` runs as
 * soon as the key is known to be valid, before all other checks.
 * @throws DomainError (401); ValidationError (400) or NotFoundError (404) for `X-Organization-Id`, see `chooseOrganization`.
 */
export async function authenticate(
  { headers, path, organizationId }: AuthenticatedRequest,
  parts: AuthenticationParts,
  onKey?: (sender: Sender) => Promise<void>,
): Promise<Actor> {
  const { sql, now, log } = parts;
  const known = await findCaller({ headers, path }, parts);
  if (!known || !canAct(known))
    throw new RefusedKeyError(
      known,
      known || headers.has('authorization') || headers.has('upgrade') ? undefined : NO_KEY,
    );
  await onKey?.(known);
  // Not while the primary is away, when `position` is null. A failure does not refuse the request: a database without
  // disk space can still be read.
  if (known.isStale && known.position !== null)
    await noteKeyUse(sql, known, now()).catch((error: unknown) =>
      log.warn({ err: error }, 'the time of last use of an API key could not be stored'),
    );
  const isLink = organizationId !== undefined;
  // A bound key refuses another organization in the header of a link, too.
  const named = !isLink || known.isBound ? chooseOrganization(known, headers.get(ORGANIZATION_HEADER)) : undefined;
  const organization = isLink ? chooseOrganization(known, organizationId, 'organization') : named;
  return {
    keyId: known.keyId,
    userId: known.userId,
    isServiceAccount: known.isServiceAccount,
    kind: known.kind,
    signedInWithId: known.signedInWithId,
    scopes: scopesWithin(known.scopes, organization?.role),
    isBound: known.isBound,
    organization,
    position: known.position,
  };
}

/** A caller who was authenticated by the headers of the request. */
export interface Admitted {
  readonly actor: Actor;
  /** Authenticates again after the body was read, unless the whole body had arrived before the first lookup. */
  readonly whenRead: () => Actor | Promise<Actor>;
}

/**
 * Authenticates the caller before the body is read, and lets the caller authenticate again afterwards, because rights
 * can end while a slow body arrives.
 * @throws like `authenticate`; the second time also ForbiddenError when the caller is no longer a member of the organization.
 */
export async function admit(
  request: Pick<HttpRequest, 'body' | 'hasArrived'>,
  caller: AuthenticatedRequest,
  parts: AuthenticationParts,
  onKey: (sender: Sender) => Promise<void>,
): Promise<Admitted> {
  // The lookup is sent in this phase of the event loop or later. A body that is complete by the next phase is not newer than the rights.
  let hasBodyArrived = false;
  setImmediate(() => (hasBodyArrived = request.hasArrived === true || request.body === null));
  const actor = await authenticate(caller, parts, onKey);
  return { actor, whenRead: hasBodyArrived ? () => actor : () => findAgain(caller, parts) };
}

/** Authenticates a caller again who may have lost rights meanwhile. @throws like {@link admit} the second time */
export async function findAgain(request: AuthenticatedRequest, parts: AuthenticationParts): Promise<Actor> {
  try {
    return await authenticate(request, parts);
  } catch (error) {
    if (error instanceof NotFoundError) throw new ForbiddenError('you are no longer a member of the organization');
    throw error;
  }
}

async function findCaller(
  { headers, path }: AuthenticatedRequest,
  { keys, browserSessions, publicUrl }: AuthenticationParts,
): Promise<KnownKey | undefined> {
  const authorization = headers.get('authorization');
  if (authorization === null)
    return headers.has('cookie') ? findSignedIn(headers, { keys, browserSessions }) : undefined;
  const key = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (key === undefined) return undefined;
  if (isWellFormedApiKey(key)) return keys.byKey(key);
  if (!isWellFormedSecret('accessToken', key)) return undefined;
  const grant = await keys.byAccessToken(key);
  const resources = [resourceOf(path), isFrontEndPath(path) ? FRONT_END_RESOURCE : undefined];
  return resources.some((each) => each !== undefined && grant?.resource === publicUrl() + each) ? grant : undefined;
}

async function findSignedIn(
  headers: HttpHeaders,
  { keys, browserSessions }: Pick<AuthenticationParts, 'keys' | 'browserSessions'>,
): Promise<KnownKey | undefined> {
  const signInId = await browserSessions.idOf(headers);
  if (signInId === undefined) return undefined;
  if (!browserSessions.isOfPage(headers)) throw unauthenticated(CROSS_ORIGIN);
  return keys.bySignIn(signInId);
}

const CROSS_ORIGIN =
  'the sign-in cookie is accepted only for requests from pages of the gateway; send an API key in the Authorization header';

/** Whether a key is valid. A bound key is invalid when its user is no longer a member of its organization. */
export function canAct({ refusal, isBound, organizations }: KnownKey): boolean {
  return refusal === null && (!isBound || organizations.length > 0);
}

/**
 * The organization that a request acts in: the organization of a bound key, else the one named by the header or the query, else the
 * user's only one, else none.
 * @throws ForbiddenError (403) where an administrator has blocked the key; ValidationError (400) when it is another organization than that of a bound key; NotFoundError
 * (404) when the user is not a member of the named organization.
 */
function chooseOrganization(
  { isBound, organizations: open, blocked }: KnownKey,
  wanted: string | null,
  field = ORGANIZATION_HEADER,
): ActingOrganization | undefined {
  const organizations = blocked.length === 0 ? open : [...open, ...blocked];
  const [only] = organizations;
  if (!wanted && organizations.length !== 1) return undefined;
  // A slug can look like an id. The id takes precedence.
  const chosen = wanted
    ? (organizations.find(({ id }) => id === wanted.toLowerCase()) ?? organizations.find(({ slug }) => slug === wanted))
    : only;
  if (chosen && blocked.includes(chosen))
    throw new ForbiddenError(
      chosen.isAged === true
        ? `this key is older than the organization ${chosen.slug ?? chosen.id} allows; create a new one`
        : `an administrator has blocked this credential in the organization ${chosen.slug ?? chosen.id}`,
    );
  if (chosen) return chosen;
  if (isBound && only) throw invalid(field, `this key acts only in ${only.slug ?? only.id}`);
  throw new NotFoundError(`${field}: organization not found`, 'Organization');
}
