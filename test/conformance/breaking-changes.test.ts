import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { CriticalityLevel, diff } from '@graphql-inspector/core';
import type * as GraphQL from 'graphql';
import { expect, test } from 'vitest';
import { proof } from '../support/proof.ts';
import { SCHEMA } from './helpers/apps.ts';

// The CommonJS build of graphql, which the inspector loads. It refuses schemas of the ES module build, which vitest would import.
const { buildSchema } = createRequire(import.meta.url)('graphql') as typeof GraphQL;

const ROOT = new URL('../../', import.meta.url);

/**
 * The breaking changes between two schemas that no line of the changelog announces. Such a line names the item:
 * "Breaking: `Session.title` …".
 */
async function unannounced(before: string, after: string, changelog: string): Promise<string[]> {
  const announcements = changelog.split('\n').filter((line) => line.includes('Breaking:'));
  const changes = await diff(buildSchema(before), buildSchema(after));
  return changes
    .filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking)
    .filter(({ path }) => !announcements.some((line) => line.includes(`\`${path}\``)))
    .map(({ path, message }) => `${path}: ${message}`);
}

async function git(...argv: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', argv, { cwd: ROOT, maxBuffer: 2 ** 26 });
  return stdout;
}

/**
 * The last committed schema that differs from this one; undefined if the history has none, as in a shallow clone, or if
 * there is no history.
 */
async function previous(schema: string): Promise<string | undefined> {
  const commits = await git('log', '--max-count=2', '--format=%H', '--', 'schema.graphql').catch(() => '');
  for (const commit of commits.split('\n').filter(Boolean)) {
    // The commit that deleted the file does not contain it.
    const committed = await git('show', `${commit}:schema.graphql`).catch(() => schema);
    if (committed !== schema) return committed;
  }
  return undefined;
}

test('a removed field, a changed type and a new required argument are breaking changes, until the changelog names them', async () => {
  const before = 'type Query { a: Int!, b(x: Int): Int, c: Int }';
  const after = 'type Query { a: String!, b(x: Int, y: Int!): Int, d: Int }';
  const found = await unannounced(before, after, '# Changelog\n\n- `Query.c` is gone.\n');
  expect(new Set(found.map((line) => line.replace(/:.*/, '')))).toEqual(new Set(['Query.a', 'Query.b.y', 'Query.c']));
  const changelog =
    '- Breaking: `Query.a` is text; `Query.b` needs `Query.b.y`.\n- Breaking: `Query.c` is gone: use `d`.\n';
  expect(await unannounced(before, after, changelog)).toEqual([]);
});

test('the changelog announces every breaking change of the schema', async () => {
  const schema = await readFile(SCHEMA, 'utf8');
  const before = await previous(schema);
  const changelog = await readFile(new URL('CHANGELOG.md', ROOT), 'utf8');
  expect(await unannounced(before ?? schema, schema, changelog)).toEqual([]);
  proof('Breaking changes of the schema', {
    figures: { unannounced: before === undefined ? 'not compared' : 0 },
    shortfalls: before === undefined ? ['The history contains no other schema to compare with.'] : [],
  });
});
