import { readFileSync } from 'node:fs';
import { EntitySchema } from '@mikro-orm/postgresql';
import { expect, test } from 'vitest';
import { FEED_TYPES } from '../../src/core/feed.ts';
import { SETTINGS } from '../../src/core/config.ts';
import { FORMAT_NAMES, TABLE_ROLES } from '../../src/domains/session-events/formats/names.ts';
import { modules } from '../../src/gateway/modules.ts';
import { caseFaults } from '../support/completeness.ts';
import { SETTINGS_PAGES, withSettings } from '../tools/settings-tables.ts';

/** Lists that must be complete, in files that the compiler does not compare with what they list. */

const textOf = (path: string) => readFileSync(path, 'utf8');

/** What a pattern finds in a file: its first group. */
function listedIn(path: string, pattern: RegExp): string[] {
  return [...textOf(path).matchAll(pattern)].map(([, name = '']) => name);
}

test('the help of the recorder names every format', () => {
  const [help = ''] = listedIn('src/recorder/main.ts', /--format FORMAT +(.*); by default/g);
  expect(caseFaults('the comment about --format in src/recorder/main.ts', help.split(/, | or /), FORMAT_NAMES)).toBe(
    '',
  );
});

/** The names that a page does not mention, each with the file to edit. */
function unmentioned(path: string, names: readonly string[]): string[] {
  const text = textOf(path);
  return names.filter((name) => !text.includes(name)).map((name) => `describe ${name} in ${path}`);
}

test('the tables of settings have every setting, its default and the comment in the source; if not, run: npm run contracts', () => {
  const pages = Object.entries(SETTINGS_PAGES);
  for (const [page, source] of pages) expect(textOf(page)).toBe(withSettings(page, source));
  const listed = pages.flatMap(([page]) => listedIn(page, /^\| `([A-Z][A-Z\d_]+)` /gm));
  expect(caseFaults('the comments in src/core/config.ts', listed, SETTINGS)).toBe('');
});

test('the pages that list something completely mention all of it', () => {
  const sections = listedIn('src/console/sections.ts', /^ {4}href: '(\/[\w-]+)'/gm);
  expect(sections.length).toBeGreaterThan(5);
  expect([
    ...unmentioned(
      'docs/pages.md',
      sections.map((href) => `\`${href}\``),
    ),
    ...unmentioned(
      'docs/feed.md',
      FEED_TYPES.map((type) => `\`${type}\``),
    ),
    ...unmentioned('docs/record-a-session.md', [...FORMAT_NAMES, ...TABLE_ROLES.map((name) => `\`${name}\``)]),
  ]).toEqual([]);
});

test('docs/privacy.md says of every table who deletes its rows', () => {
  const [, section = ''] = textOf('docs/privacy.md').split('## Every table');
  const listed = [...section.matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  );
  const tables = modules.flatMap(({ entities }) =>
    entities.map((entity) => EntitySchema.REGISTRY.get(entity)?.meta.tableName ?? `the table of ${entity.name}`),
  );
  expect(tables.length).toBeGreaterThan(30);
  expect(caseFaults('"Every table" in docs/privacy.md', listed, tables)).toBe('');
});
