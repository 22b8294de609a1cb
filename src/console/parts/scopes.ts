import type { Answers } from '../generated/operation-types.ts';

type Role = NonNullable<Answers['Viewer']['viewer']['role']>;

export type Scope = Answers['Viewer']['viewer']['scopes'][number];

/** The scopes that keys of viewers can have, as the gateway grants them. */
export const VIEWER_SCOPES: readonly Scope[] = [
  'MCP_CONNECTIONS_READ',
  'API_KEYS_READ',
  'SESSIONS_READ',
  'BEHAVIORAL_EVENTS_EVENT_DEFINITIONS_READ_WRITE',
  'SOCIAL',
];

/** Those of the calling key that a key of somebody with this role can have; `scim` is for service accounts alone. */
export function grantableScopes(
  own: readonly Scope[],
  role: Role | null | undefined,
  isServiceAccount: boolean,
): readonly Scope[] {
  if (role === 'VIEWER') return own.filter((scope) => VIEWER_SCOPES.includes(scope));
  if (role === 'MEMBER') return own.filter((scope) => scope !== 'AUDIT_LOG_READ');
  return isServiceAccount ? [...own, 'SCIM'] : own;
}

export interface ScopeText {
  /** The name that documents and messages use, such as `sessions.read`. */
  readonly name: string;
  /** What the scope is for, in one sentence. */
  readonly text: string;
}

/** The names and sentences of the scopes, from the descriptions of the schema: each begins with the name. */
export function scopeTexts(type: Answers['OwnKey']['__type'] | undefined): (scope: Scope) => ScopeText {
  const texts = new Map<string, ScopeText>();
  for (const { name: value, description } of type?.enumValues ?? []) {
    const [, name = value, text = ''] = /^`(.+?)`: (.+)$/s.exec(description ?? '') ?? [];
    texts.set(value, { name, text });
  }
  return (scope) => texts.get(scope) ?? { name: scope, text: '' };
}
