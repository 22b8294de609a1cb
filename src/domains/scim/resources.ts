import { hash } from 'node:crypto';
import { isObject } from '../../core/is-object.ts';
import { ScimError } from './errors.ts';

/** Users and groups as SCIM 2.0 has them (RFC 7643), and what clients send of them: in any case, booleans as text, members that nobody knows. */

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';
/** In front of the names of attributes. */
export const SCHEMA_PREFIX = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/i;
export const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

export const NAME_PARTS = ['formatted', 'givenName', 'familyName'] as const;
export type Names = Readonly<Partial<Record<(typeof NAME_PARTS)[number], string>>>;

/** What SCIM says of a person. */
export interface UserState {
  userName: string;
  externalId: string | null;
  displayName: string | null;
  name: Names;
  active: boolean;
  email: string;
}

export interface GroupState {
  displayName: string;
  externalId: string | null;
  members: ReadonlySet<string>;
}

const MAX_TEXT = 500;
export const MAX_MEMBERS = 5000;

/** The member of an object with this name in any case. */
export function memberOf(value: unknown, name: string): unknown {
  if (!isObject(value)) return undefined;
  const wanted = name.toLowerCase();
  return Object.entries(value).find(([key]) => key.toLowerCase() === wanted)?.[1];
}

/** @throws ScimError (400) for what is no text; null for absent, null and empty. */
export function textIn(value: unknown, name: string): string | null {
  if (value === undefined || value === null || value === '') return null;
  if (typeof value !== 'string' || value.length > MAX_TEXT || /\p{Cc}/u.test(value) || !value.isWellFormed())
    throw new ScimError(
      'invalidValue',
      `${name}: must be a text of at most ${MAX_TEXT} characters without control characters`,
    );
  return value;
}

export function requiredText(value: unknown, name: string): string {
  const text = textIn(value, name)?.trim();
  if (!text) throw new ScimError('invalidValue', `${name}: is required`);
  return text;
}

/** Entra sends booleans as text. */
export function booleanIn(value: unknown, name: string): boolean {
  const text = typeof value === 'string' ? value.toLowerCase() : value;
  if (text === true || text === 'true') return true;
  if (text === false || text === 'false') return false;
  throw new ScimError('invalidValue', `${name}: must be true or false`);
}

export function namesIn(value: unknown): Names {
  const parts = NAME_PARTS.map((part) => [part, textIn(memberOf(value, part), `name.${part}`)] as const);
  return Object.fromEntries(parts.filter(([, text]) => text !== null));
}

/** The address that counts: the primary one, else that of type work, else the first. Undefined if there is none. */
export function addressIn(value: unknown): string | undefined {
  const list: readonly unknown[] = Array.isArray(value) ? value : value == null ? [] : [value];
  if (list.length > 100) throw new ScimError('invalidValue', 'emails: must have at most 100 items');
  const isPrimary = (item: unknown) => String(memberOf(item, 'primary')).toLowerCase() === 'true';
  const isOfWork = (item: unknown) => String(memberOf(item, 'type')).toLowerCase() === 'work';
  const chosen = list.find(isPrimary) ?? list.find(isOfWork) ?? list[0];
  return textIn(typeof chosen === 'string' ? chosen : memberOf(chosen, 'value'), 'emails.value') ?? undefined;
}

/** A person as a body of POST or PUT has them. `before` is what stays when it is absent. */
export function userIn(body: unknown, before?: UserState): UserState {
  if (!isObject(body)) throw new ScimError('invalidSyntax', 'the body must be an object');
  const userName =
    before && memberOf(body, 'userName') === undefined
      ? before.userName
      : requiredText(memberOf(body, 'userName'), 'userName');
  const active = memberOf(body, 'active');
  return {
    userName,
    externalId: textIn(memberOf(body, 'externalId'), 'externalId'),
    displayName: textIn(memberOf(body, 'displayName'), 'displayName'),
    name: namesIn(memberOf(body, 'name')),
    active: active === undefined || active === null ? (before?.active ?? true) : booleanIn(active, 'active'),
    email: (addressIn(memberOf(body, 'emails')) ?? (before ? before.email : userName)).toLowerCase(),
  };
}

export function membersIn(value: unknown): string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : value == null ? [] : [value];
  if (list.length > MAX_MEMBERS) throw new ScimError('invalidValue', `members: must have at most ${MAX_MEMBERS} items`);
  return list.map((item) =>
    requiredText(typeof item === 'string' ? item : memberOf(item, 'value'), 'members.value').toLowerCase(),
  );
}

export function groupIn(body: unknown, before?: GroupState): GroupState {
  if (!isObject(body)) throw new ScimError('invalidSyntax', 'the body must be an object');
  const displayName = memberOf(body, 'displayName');
  return {
    displayName: before && displayName === undefined ? before.displayName : requiredText(displayName, 'displayName'),
    externalId: textIn(memberOf(body, 'externalId'), 'externalId'),
    members: new Set(membersIn(memberOf(body, 'members'))),
  };
}

export interface Resource {
  readonly id: string;
  readonly meta: { readonly resourceType: 'User' | 'Group'; readonly location: string };
  readonly [name: string]: unknown;
}

/** The ETag of a resource (RFC 7644, section 3.14), which follows from what it says. */
export const versionOf = (resource: object): string => `W/"${hash('sha256', JSON.stringify(resource)).slice(0, 24)}"`;

interface Stored {
  readonly id: string;
  readonly location: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const metaOf = (resourceType: 'User' | 'Group', { location, createdAt, updatedAt }: Stored) => ({
  resourceType,
  created: createdAt.toISOString(),
  lastModified: updatedAt.toISOString(),
  location,
});

export function userResource(state: UserState, stored: Stored): Resource {
  const { userName, externalId, displayName, name, active, email } = state;
  return {
    schemas: [USER_SCHEMA],
    id: stored.id,
    ...(externalId !== null && { externalId }),
    userName,
    ...(Object.keys(name).length > 0 && { name }),
    ...(displayName !== null && { displayName }),
    emails: [{ value: email, type: 'work', primary: true }],
    active,
    meta: metaOf('User', stored),
  };
}

export function groupResource(
  { displayName, externalId, members }: GroupState,
  stored: Stored,
  usersAt: string,
): Resource {
  return {
    schemas: [GROUP_SCHEMA],
    id: stored.id,
    ...(externalId !== null && { externalId }),
    displayName,
    members: [...members].map((value) => ({ value, $ref: `${usersAt}/${value}`, type: 'User' })),
    meta: metaOf('Group', stored),
  };
}
