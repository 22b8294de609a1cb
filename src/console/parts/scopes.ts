import type { Answers } from '../generated/operation-types.ts';

export type Scope = Answers['Viewer']['viewer']['scopes'][number];

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
