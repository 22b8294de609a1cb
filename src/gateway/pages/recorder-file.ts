import { readFileSync } from 'node:fs';

/** The recorder as people get it: one file, made of its modules, which a later one can import from earlier ones only. */

const MODULES = [
  'common',
  'failures',
  'logins',
  'login',
  'spool',
  'gateway',
  'agents',
  'sender',
  'transcript-lines',
  'transcript-files',
  'description',
  'cursors',
  'lock',
  'transcript-sender',
  'import',
  'hooks',
];
const IMPORT = /^import (.+?) from '(.+?)';\n/gms;

export function recorderFile(): string {
  const read = (name: string) => readFileSync(new URL(`files/${name}.mjs`, import.meta.url), 'utf8');
  const main = read('record');
  const end = main.indexOf('\n\n') + 2;
  const sources = [...MODULES.map((name) => read(`recorder/${name}`)), main.slice(end)];
  const imports = new Map<string, Set<string>>();
  for (const [, names = '', from = ''] of sources.flatMap((source) => [...source.matchAll(IMPORT)])) {
    if (from.startsWith('.')) continue;
    const known = imports.get(from) ?? new Set();
    for (const name of names.replace(/^\{|\}$/g, '').split(',')) if (name.trim() !== '') known.add(name.trim());
    imports.set(from, known);
  }
  const bodies = sources.map((source) =>
    source
      .replace(IMPORT, '')
      .replace(/^\/\*\* @import .*\n/gm, '')
      .replace(/^export /gm, '')
      .trim(),
  );
  return `${main.slice(0, end)}${[...imports].map(importOf).join('\n')}\n\n${bodies.join('\n\n')}\n`;
}

function importOf([from, names]: readonly [string, ReadonlySet<string>]): string {
  const list = [...names].join(', ');
  return `import ${list.startsWith('*') ? list : `{ ${list} }`} from '${from}';`;
}
