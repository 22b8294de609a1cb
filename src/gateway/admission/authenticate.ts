import type { Logger } from 'pino';
import type { HttpHeaders } from '../../core/http/messages.ts';
import { invalid, notFound, unauthenticated } from '../../core/errors.ts';
import type { ActingOrganization, Actor } from '../../core/operation.ts';
import { isWellFormedApiKey } from '../../domains/api-keys/key-format.ts';
import { noteKeyUse } from '../../domains/api-keys/operations.ts';
import type { Sql } from '../../core/postgres/sql.ts';
import { ORGANIZATION_HEADER } from '../request-headers.ts';
import type { FindKey, KnownKey } from './api-key-lookup.ts';

/** What authentication works with. */
export interface AuthenticationParts {
  readonly findKey: FindKey;
  readonly sql: Sql;
  readonly now: () => Date;
  readonly log: Pick<Logger, 'warn'>;
}

/**
 * Who calls, from the `Authorization` header alone (RFC 6750, section 2.1). Missing, malformed, unknown, expired and revoked keys look the
 * same; a malformed one costs no query. The key is looked up on every request, so that a revoked one is refused at once in every process.
 * `onKey` runs as soon as the key is known to be good, before anything else is looked at.
 * @throws DomainError 401; as `chooseOrganization` for the header `X-Organization-Id`.
 */
export async function authenticate(
  headers: HttpHeaders,
  { sql, now, findKey, log }: AuthenticationParts,
  onKey?: (keyId: string) => Promise<void>,
): Promise<Actor> {
  const key = /^Bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1];
  if (key === undefined || !isWellFormedApiKey(key)) throw unauthenticated();
  const known = await findKey(key);
  // A member who was removed takes the keys of that organization along.
  if (!known || (known.isBound && known.organizations.length === 0)) throw unauthenticated();
  await onKey?.(known.keyId);
  // Nobody is refused for want of it: a database that is full can still be read.
  if (known.isStale)
    await noteKeyUse(sql, known.keyId, now()).catch((error: unknown) =>
      log.warn({ err: error }, 'use of a key not noted'),
    );
  return {
    keyId: known.keyId,
    userId: known.userId,
    scopes: known.scopes,
    isBound: known.isBound,
    organization: chooseOrganization(known, headers.get(ORGANIZATION_HEADER)),
    position: known.position,
  };
}

/**
 * The organization that a request acts in: that of a bound key; else the one that the header names; else the user's only one; else none.
 * @throws ValidationError (400) when the header names another organization than that of the key; NotFoundError (404) when it names none of
 * the user's.
 */
function chooseOrganization(
  { isBound, organizations }: KnownKey,
  wanted: string | null,
): ActingOrganization | undefined {
  const [only] = organizations;
  if (!wanted) return organizations.length === 1 ? only : undefined;
  // A slug may have the form of an id; the id wins.
  const chosen =
    organizations.find(({ id }) => id === wanted.toLowerCase()) ?? organizations.find(({ slug }) => slug === wanted);
  if (chosen) return chosen;
  if (isBound && only) throw invalid(ORGANIZATION_HEADER, `this key acts only in ${only.slug ?? only.id}`);
  throw notFound('organization');
}
