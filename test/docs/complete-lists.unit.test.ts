import { readFileSync } from 'node:fs';
import { EntitySchema } from '@mikro-orm/postgresql';
import { expect, test } from 'vitest';
import { FEED_TYPES } from '../../src/core/feed.ts';
import { OIDC_ENVIRONMENT } from '../../src/core/oidc-settings.ts';
import { FORMAT_NAMES } from '../../src/domains/session-events/formats/line-converter.ts';
import { TABLE_ROLES } from '../../src/domains/session-events/formats/member-table.ts';
import { recorderFile } from '../../src/gateway/pages/recorder-file.ts';
import { modules } from '../../src/gateway/modules.ts';
import { caseFaults } from '../support/completeness.ts';

/** Lists that must be complete, in files that the compiler does not compare with what they list. */

const textOf = (path: string) => readFileSync(path, 'utf8');

/** What a pattern finds in a file: its first group. */
function listedIn(path: string, pattern: RegExp): string[] {
  const text = path === RECORDER ? recorderFile() : textOf(path);
  return [...text.matchAll(pattern)].map(([, name = '']) => name);
}

const RECORDER = 'src/gateway/pages/files/record.mjs';

test('the recorder knows every format of agents, and recognizes each by its lines', () => {
  const [list = ''] = listedIn(RECORDER, /^const FORMATS = \[([^\]]*)\];$/gm);
  const known = [...list.matchAll(/'([\w-]+)'/g)].map(([, name = '']) => name);
  expect(caseFaults(`FORMATS in ${RECORDER}`, known, FORMAT_NAMES)).toBe('');
  const recognized = listedIn(RECORDER, /^ {2}\['([\w-]+)', \/.*\/\],$/gm);
  const named = FORMAT_NAMES.filter((name) => !['auto', 'text', 'jsonl'].includes(name));
  expect(caseFaults(`SIGNS in ${RECORDER}`, recognized, named)).toBe('');
  const [help = ''] = listedIn(RECORDER, /--format FORMAT +(.*); by default/g);
  expect(caseFaults(`the comment about --format in ${RECORDER}`, help.split(/, | or /), FORMAT_NAMES)).toBe('');
});

test('the recorder knows every role of a table of members', () => {
  const [list = ''] = listedIn(RECORDER, /^const ROLES = \[([^\]]*)\];$/gm);
  const known = [...list.matchAll(/'(\w+)'/g)].map(([, name = '']) => name);
  expect(caseFaults(`ROLES in ${RECORDER}`, known, TABLE_ROLES)).toBe('');
});

/** The names that a page does not mention, each with the file to edit. */
function unmentioned(path: string, names: readonly string[]): string[] {
  const text = textOf(path);
  return names.filter((name) => !text.includes(name)).map((name) => `describe ${name} in ${path}`);
}

test('the pages that list something completely mention all of it', () => {
  const identityProvider = Object.keys(OIDC_ENVIRONMENT);
  const variables = [...listedIn('src/core/config.ts', /^ {2}([A-Z][A-Z\d_]+):/gm), ...identityProvider];
  const sections = listedIn('src/console/sections.ts', /^ {4}href: '(\/[\w-]+)'/gm);
  expect([variables.length > 20, sections.length > 5]).toEqual([true, true]);
  expect([
    ...unmentioned(
      'docs/configuration.md',
      variables.map((name) => `\`${name}\``),
    ),
    ...unmentioned(
      'docs/sign-in.md',
      identityProvider.map((name) => `| \`${name}\``),
    ),
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

test('docs/deletion.md says of every table who deletes its rows', () => {
  const [, section = ''] = textOf('docs/deletion.md').split('## Every table');
  const listed = [...section.matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  );
  const tables = modules.flatMap(({ entities }) =>
    entities.map((entity) => EntitySchema.REGISTRY.get(entity)?.meta.tableName ?? `the table of ${entity.name}`),
  );
  expect(tables.length).toBeGreaterThan(30);
  expect(caseFaults('"Every table" in docs/deletion.md', listed, tables)).toBe('');
});
