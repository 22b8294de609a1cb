import type { OidcSettings } from '../../core/oidc-settings.ts';
import { ForbiddenError } from '../../core/errors.ts';
import { isAddress, personName } from '../users/public.ts';

/** What the identity provider says about a person: claims of the ID token and of the userinfo endpoint. */
export interface Claims {
  readonly sub: string;
  readonly [name: string]: unknown;
}

/** The identity provider has signed somebody in whom this gateway does not accept. The message says what to do. */
export class RefusedIdentityError extends ForbiddenError {}

/**
 * The e-mail address by which a new identity is joined to an account, in lower case.
 * @throws RefusedIdentityError if it does not count as verified, or if its domain is not listed.
 */
export function emailOf(claims: Claims, { email: trust, domains }: Pick<OidcSettings, 'email' | 'domains'>): string {
  const { email, email_verified: verified } = claims;
  if (email === undefined || email === null || email === '')
    throw new RefusedIdentityError(
      'Your identity provider did not send your e-mail address. Ask its administrator to add the claim “email” for this application.',
    );
  if (typeof email !== 'string' || !isAddress(email))
    throw new RefusedIdentityError(
      'Your identity provider sent an e-mail address that is not valid here. Ask its administrator for an address of plain letters.',
    );
  const isAbsent = verified === undefined || verified === null;
  const isVerified = verified === true || verified === 'true';
  if (!isVerified && !(isAbsent && trust === 'trusted'))
    throw new RefusedIdentityError(
      isAbsent
        ? 'Your identity provider does not say that your e-mail address is verified. The operator of this gateway can set OIDC_EMAIL=trusted if the provider verifies all addresses.'
        : 'Your e-mail address is not verified at your identity provider. Verify it there, then sign in again.',
    );
  const normal = email.toLowerCase();
  const domain = normal.slice(normal.lastIndexOf('@') + 1);
  if (!domains.includes(domain))
    throw new RefusedIdentityError(
      'The domain of your e-mail address may not sign in here. Use the account of your company, or ask the operator of this gateway to list the domain in OIDC_DOMAINS.',
    );
  return normal;
}

/** The name that a new account gets; null if it is not one that people could give themselves. */
export function nameOf({ name, given_name: given, family_name: family }: Claims): string | null {
  for (const parts of [[name], [given, family]]) {
    const text = parts.filter((part) => typeof part === 'string').join(' ');
    const valid = personName.safeParse(text.trim());
    if (valid.success) return valid.data;
  }
  return null;
}

/** Whether a `sub` has 1 to 255 characters without control characters, and can be stored. */
export function isSubject(sub: string): boolean {
  return sub.length <= 255 && sub.isWellFormed() && /^\P{Cc}+$/u.test(sub);
}

/**
 * The groups of a person; undefined if the provider says that there are too many to list, or sends what is no list. Okta and Entra leave the
 * claim out for somebody without groups. A text is one group, or several with commas or semicolons between them.
 */
export function groupsOf(
  claims: Claims,
  { groupsClaim: claim, groupsMissing }: Pick<OidcSettings, 'groupsClaim' | 'groupsMissing'>,
): readonly string[] | undefined {
  if (claim === undefined) return [];
  if (isOverflow(claims, claim)) return undefined;
  const groups = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (groups === undefined) return groupsMissing === 'none' ? [] : undefined;
  if (typeof groups === 'string')
    return [groups, ...groups.split(/[,;]/)].map((group) => group.trim()).filter((group) => group !== '');
  const isList = Array.isArray(groups) && groups.every((group) => typeof group === 'string');
  return isList ? groups : undefined;
}

/** Whether the provider says that there are too many groups to list. */
export function isOverflow(claims: Claims, claim: string): boolean {
  const { _claim_names: elsewhere, hasgroups } = claims;
  const isElsewhere = typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, claim);
  return isElsewhere || hasgroups === true || hasgroups === 'true';
}

/** Whether an ID token says enough about the e-mail address, so that the userinfo endpoint is not asked for it. */
export function hasAddress({ email, email_verified: verified }: Claims, trust: OidcSettings['email']): boolean {
  return email != null && (verified != null || trust === 'trusted');
}

/**
 * The claims of the ID token, and of the userinfo endpoint what the token lacks. The e-mail address and whether it is verified come from one
 * of them, because they may speak of different addresses.
 */
export function mergedClaims(token: Claims, userinfo: Omit<Claims, 'sub'>, trust: OidcSettings['email']): Claims {
  const isOfToken = hasAddress(token, trust) || (token['email'] != null && token['email'] !== userinfo['email']);
  const { email, email_verified } = isOfToken ? token : userinfo;
  return { ...userinfo, ...token, email, email_verified };
}
