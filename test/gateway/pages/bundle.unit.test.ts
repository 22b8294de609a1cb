import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { checkout } from '../../support/processes/programs.ts';
import { temporaryDirectory } from '../../support/processes/process.ts';

/** The scripts of the pages, bundled in a copy of their sources. */

const PAGES = 'src/gateway/pages';
const NAMES = ['console', 'stream-worker', 'graphiql', 'reference', 'sign-in', 'record'];

let folder: string;
beforeEach(async () => {
  folder = await temporaryDirectory();
  for (const path of [
    'package.json',
    'src/console',
    `${PAGES}/browser`,
    `${PAGES}/bundle.mjs`,
    'src/core/is-object.ts',
    'src/recorder',
    'src/core/text/wording.ts',
    'src/domains/session-events/formats',
  ])
    cpSync(join(checkout, path), join(folder, path), { recursive: true });
  symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'));
});

const kept = () => join(folder, PAGES, 'generated/scripts.json');
const change = () => appendFileSync(join(folder, 'src/console/main.tsx'), '\nconsole.info("a source has changed");\n');

/** The names of the scripts, and whether the console has the change, as a process that starts gets them. */
function started(): { readonly names: readonly string[]; readonly isChanged: boolean } {
  const code = `import { bundledScripts } from './${PAGES}/bundle.mjs';
    const scripts = bundledScripts();
    console.log(JSON.stringify({ names: Object.keys(scripts), isChanged: scripts.console.includes('a source has changed') }));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { cwd: folder });
  const { names, isChanged } = JSON.parse(output.toString()) as ReturnType<typeof started>;
  return { names: names.toSorted(), isChanged };
}
const all = (isChanged: boolean) => ({ names: NAMES.toSorted(), isChanged });

test('what was bundled is used again, and made anew when a source has changed', () => {
  execFileSync(process.execPath, [join(PAGES, 'bundle.mjs')], { cwd: folder });
  const { ino } = statSync(kept());
  expect(started()).toEqual(all(false));
  expect(statSync(kept()).ino).toBe(ino);
  change();
  expect(started()).toEqual(all(true));
  expect(JSON.parse(readFileSync(kept(), 'utf8'))).toMatchObject({
    scripts: { console: expect.stringContaining('a source has changed') },
  });
});

test('where the folder cannot be written, the scripts are bundled into memory', () => {
  // A file in the place of the folder: root can write to any folder.
  writeFileSync(join(folder, PAGES, 'generated'), '');
  expect(started()).toEqual(all(false));
  change();
  expect(started()).toEqual(all(true));
});

test('no script of a page imports another file, so that a page loads a few files', () => {
  execFileSync(process.execPath, [join(PAGES, 'bundle.mjs')], { cwd: folder });
  const { scripts } = JSON.parse(readFileSync(kept(), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const withImports = Object.entries(scripts).filter(
    ([name, text]) =>
      name !== 'record' && /\bimport\s*[("'{]/.test(text.replaceAll(/"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/g, '')),
  );
  expect(withImports.map(([name]) => name)).toEqual([]);
});
