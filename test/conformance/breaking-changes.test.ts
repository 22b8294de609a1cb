import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { CriticalityLevel, diff } from '@graphql-inspector/core';
import type * as GraphQL from 'graphql';
import { expect, test } from 'vitest';
import { VERSION } from '../../src/core/version.ts';
import { proof } from '../support/proof.ts';
import { announcements, majorOf, releasedContracts } from '../tools/released.ts';
import { SCHEMA } from './helpers/apps.ts';

// The CommonJS build of graphql, which the inspector loads. It refuses schemas of the ES module build, which vitest would import.
const { buildSchema } = createRequire(import.meta.url)('graphql') as typeof GraphQL;

const ROOT = new URL('../../', import.meta.url);

/**
 * The breaking changes between two schemas that no line of the changelog announces. Such a line names the item:
 * "Breaking: `Session.title` …".
 */
async function unannounced(before: string, after: string, changelog: string): Promise<string[]> {
  const announcing = changelog.split('\n').filter((line) => line.includes('Breaking:'));
  const changes = await diff(buildSchema(before), buildSchema(after));
  return changes
    .filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking)
    .filter(({ path }) => !announcing.some((line) => line.includes(`\`${path}\``)))
    .map(({ path, message }) => `${path}: ${message}`);
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

test.for(releasedContracts())(
  'nothing of $version breaks within its major version, and the changelog announces what the next one breaks',
  async (released) => {
    const changelog = await readFile(new URL('CHANGELOG.md', ROOT), 'utf8');
    const announced = majorOf(VERSION) === majorOf(released.version) ? '' : announcements(changelog).join('\n');
    expect(await unannounced(released.graphql, await readFile(SCHEMA, 'utf8'), announced)).toEqual([]);
    proof('Breaking changes of the schema', { figures: { since: released.version, unannounced: 0 } });
  },
);
