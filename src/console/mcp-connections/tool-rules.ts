import type { Connection } from './mcp-connection-types.ts';

/** Rules for tools as lines of text: `ask write_*, delete_* for Writers, Ops`. */

type Rule = Connection['toolRules'][number];
export type Group = readonly [id: string, name: string];

const LINE = /^(allow|ask|deny)\s+(.+?)(?:\s+for\s+(.+))?$/i;
const EFFECTS = ['ALLOW', 'ASK', 'DENY'] as const;
const listIn = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);

/** Its name, or its id where the name would be read as another group or several. */
const wordOf = (id: string, groups: readonly Group[]): string => {
  const name = groups.find(([each]) => each === id)?.[1] ?? id;
  const found = groups.filter(([, each]) => each === name);
  return found.length === 1 && listIn(name).join() === name ? name : id;
};

export const textOfRules = (rules: readonly Rule[], groups: readonly Group[]): string =>
  rules
    .map(({ effect, tools, groupIds }) => {
      const names = groupIds.map((id) => wordOf(id, groups));
      return `${effect.toLowerCase()} ${tools.join(', ')}${names.length > 0 ? ` for ${names.join(', ')}` : ''}`;
    })
    .join('\n');

/** The rules in a text, or what is wrong with it. */
export function rulesIn(
  text: string,
  groups: readonly Group[],
): { readonly rules: Rule[] } | { readonly fault: string } {
  const rules: Rule[] = [];
  for (const line of text
    .split('\n')
    .map((each) => each.trim())
    .filter(Boolean)) {
    const [, word = '', tools = '', named = ''] = LINE.exec(line) ?? [];
    const effect = EFFECTS.find((each) => each === word.toUpperCase());
    if (!effect) return { fault: `“${line}”: write allow, ask or deny, and then tools` };
    const groupIds: string[] = [];
    for (const name of listIn(named)) {
      const group = groups.find(([id, each]) => each === name || id === name);
      if (!group) return { fault: `“${line}”: there is no group ${name}` };
      groupIds.push(group[0]);
    }
    rules.push({ effect, tools: listIn(tools), groupIds });
  }
  return { rules };
}
