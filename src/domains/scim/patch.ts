import { isObject } from '../../core/is-object.ts';
import { ScimError } from './errors.ts';
import {
  type GroupState,
  type Names,
  NAME_PARTS,
  SCHEMA_PREFIX,
  type UserState,
  addressIn,
  booleanIn,
  memberOf,
  membersIn,
  namesIn,
  requiredText,
  textIn,
} from './resources.ts';

/**
 * PATCH (RFC 7644, section 3.5.2) as Okta and Entra send it. The package scim-patch changes any member of any
 * object; here only some members exist, and all others are ignored.
 */

const MAX_OPERATIONS = 1000;

interface Change {
  readonly op: 'add' | 'replace' | 'remove';
  /** In lower case, without the schema. Undefined if the value is an object with the members to change. */
  readonly path: string | undefined;
  readonly value: unknown;
}

function changesIn(body: unknown): Change[] {
  const operations = memberOf(body, 'Operations');
  if (!Array.isArray(operations) || operations.length === 0 || operations.length > MAX_OPERATIONS)
    throw new ScimError('invalidSyntax', `Operations: must be a list of 1 to ${MAX_OPERATIONS} operations`);
  return operations.flatMap((operation: unknown): Change[] => {
    const op = String(memberOf(operation, 'op')).toLowerCase();
    if (op !== 'add' && op !== 'replace' && op !== 'remove')
      throw new ScimError('invalidSyntax', 'op: must be add, replace or remove');
    const path = textIn(memberOf(operation, 'path'), 'path');
    const value = memberOf(operation, 'value');
    if (path !== null) return [{ op, path: path.trim().replace(SCHEMA_PREFIX, ''), value }];
    if (op === 'remove') throw new ScimError('noTarget', 'path: is required to remove something');
    if (!isObject(value)) throw new ScimError('invalidValue', 'value: must be an object when there is no path');
    return Object.entries(value).map(([name, each]) => ({ op, path: name.replace(SCHEMA_PREFIX, ''), value: each }));
  });
}

/** `emails`, `emails.value`, and with a condition on what the only address here is. */
const ADDRESS = /^emails(?:\[\s*(?:type\s+eq\s+"work"|primary\s+eq\s+"?true"?)\s*\])?(?:\.value)?$/i;

export function patchedUser(before: UserState, body: unknown): UserState {
  const state: UserState = { ...before };
  for (const { op, path = '', value: given } of changesIn(body)) {
    const value = op === 'remove' ? null : given;
    const name = path.toLowerCase();
    const part = NAME_PARTS.find((each) => name === `name.${each.toLowerCase()}`);
    if (name === 'active') state.active = op === 'remove' ? state.active : booleanIn(value, 'active');
    else if (name === 'username') state.userName = requiredText(value, 'userName');
    else if (name === 'externalid') state.externalId = textIn(value, 'externalId');
    else if (name === 'displayname') state.displayName = textIn(value, 'displayName');
    else if (name === 'name') state.name = op === 'add' ? { ...state.name, ...namesIn(value) } : namesIn(value);
    else if (part) state.name = withPart(state.name, part, textIn(value, `name.${part}`));
    else if (ADDRESS.test(path)) state.email = addressIn(value)?.toLowerCase() ?? state.email;
  }
  return state;
}

function withPart(name: Names, part: keyof Names, text: string | null): Names {
  const { [part]: _, ...others } = name;
  return text === null ? others : { ...others, [part]: text };
}

const ONE_MEMBER = /^members\[\s*value\s+eq\s+"([^"]{1,100})"\s*\]$/i;

export function patchedGroup(before: GroupState, body: unknown): GroupState {
  const state = { ...before };
  for (const { op, path = '', value } of changesIn(body)) {
    const name = path.toLowerCase();
    const [, one] = ONE_MEMBER.exec(path) ?? [];
    if (name === 'displayname') state.displayName = requiredText(op === 'remove' ? null : value, 'displayName');
    else if (name === 'externalid') state.externalId = op === 'remove' ? null : textIn(value, 'externalId');
    else if (one !== undefined && op === 'remove') state.members = without(state.members, [one.toLowerCase()]);
    else if (name === 'members') {
      const given = membersIn(value);
      if (op === 'add') state.members = new Set([...state.members, ...given]);
      else if (op === 'replace') state.members = new Set(given);
      // Entra names whom it removes in the value; without one, everybody is removed.
      else state.members = value == null ? new Set() : without(state.members, given);
    }
  }
  return state;
}

function without(members: ReadonlySet<string>, removed: readonly string[]): ReadonlySet<string> {
  const gone = new Set(removed);
  return new Set([...members].filter((id) => !gone.has(id)));
}
