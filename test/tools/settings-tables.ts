// The tables of settings in docs/, from the comments and defaults in the source. `npm run contracts` writes them, and a test compares them.
import { readFileSync } from 'node:fs';
import { readConfig } from '../../src/core/config.ts';

/** The pages with a table of settings, by the file that describes these settings. */
export const SETTINGS_PAGES = {
  'docs/configuration.md': 'src/core/config.ts',
  'docs/sign-in.md': 'src/core/oidc-settings.ts',
} as const;

const SETTING = /^ {2}\/\*\*(?<comment>(?:(?!\*\/)[^])*)\*\/\n {2}(?<name>[A-Z][A-Z\d_]+): /gm;
const DEFAULTS: Readonly<Record<string, unknown>> = readConfig({});

/** The page with its table as the source has it. */
export function withSettings(page: string, source: string): string {
  const described = [...readFileSync(source, 'utf8').matchAll(SETTING)].map(({ groups }) => rowOf(groups ?? {}));
  const rows = [['variable', 'default', 'meaning'], ...described];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[], fill = ' ') =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`;
  const [head = [], ...others] = rows;
  const table = [line(head), line(['', '', ''], '-'), ...others.map((row) => line(row))].join('\n');
  return readFileSync(page, 'utf8').replace(/^\| variable.*?(?=\n\n)/ms, () => table);
}

/** A comment that ends with `Default: ….` names it in words. */
function rowOf({ name = '', comment = '' }: Record<string, string>): string[] {
  const [meaning = '', words] = comment
    .replaceAll(/\s+(?:\* )?/g, ' ')
    .trim()
    .replace(/\.$/, '')
    .split('. Default: ');
  return [`\`${name}\``, words ?? defaultOf(DEFAULTS[name]), meaning];
}

const defaultOf = (value: unknown) =>
  value === undefined || (Array.isArray(value) && value.length === 0)
    ? 'none'
    : `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
