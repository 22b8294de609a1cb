// The linter holds the directions of imports (`.oxlintrc.json`); this holds the linter's configuration.
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkout, run } from '../support/processes/process.ts';

let project: string;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'gateway-lint-'));
  await cp(join(checkout, '.oxlintrc.json'), join(project, '.oxlintrc.json'));
});

afterAll(() => rm(project, { recursive: true, force: true }));

async function refusalsOf(file: string, source: string): Promise<string[]> {
  const path = join(project, file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, source);
  const oxlint = join(checkout, 'node_modules/.bin/oxlint');
  const { stdout } = await run([oxlint, '--config', join(project, '.oxlintrc.json'), '--format', 'unix', path], {});
  await rm(path);
  return stdout.split('\n').flatMap((line) => /\[Error\/eslint\((no-restricted-\w+)\)\]/.exec(line)?.[1] ?? []);
}

const importOf = (from: string, name = 'thing') => `import { ${name} } from '${from}';\nexport const used = ${name};\n`;

test.for([
  ['src/core/keyset.ts', '../domains/users/entity.ts'],
  ['src/core/keyset.ts', '../gateway/routes.ts'],
  ['src/core/keyset.ts', '../main.ts'],
  ['src/core/keyset.ts', '../operator/commands.ts'],
  ['src/gateway/routes.ts', '../main.ts'],
  ['src/gateway/routes.ts', '../operator/commands.ts'],
  ['src/operator/commands.ts', '../cli.ts'],
  ['src/domains/users/entity.ts', '../../gateway/routes.ts'],
  ['src/domains/users/entity.ts', '../../operator/commands.ts'],
  ['src/domains/users/entity.ts', '../organizations/slug.ts'],
  ['src/domains/users/operations.ts', '../organizations/input.ts'],
  ['src/domains/users/operations.ts', './graphql.ts'],
  ['src/domains/users/operations.ts', './rest.ts'],
  ['src/domains/users/operations.ts', '../../core/builder.ts'],
  ['src/domains/users/operations.ts', 'graphql'],
  ['src/domains/users/key-operations.ts', '../../gateway/routes.ts'],
  ['src/domains/users/graphql.ts', './rest.ts'],
  ['src/domains/users/graphql.ts', '@mikro-orm/postgresql'],
  ['src/domains/users/graphql.ts', '../../core/database.ts'],
  ['src/domains/users/graphql.ts', '../organizations/slug.ts'],
  ['src/domains/users/rest.ts', './graphql.ts'],
  ['src/domains/users/rest.ts', '../../core/sql.ts'],
  ['src/domains/users/rest.ts', '../../gateway/routes.ts'],
] as const)('%s may not import %s', async ([file, from]) => {
  expect(await refusalsOf(file, importOf(from))).toEqual(['no-restricted-imports']);
});

test.for([
  ['src/cli.ts', './operator/commands.ts', 'thing'],
  ['src/operator/commands.ts', '../gateway/dependencies.ts', 'thing'],
  ['src/gateway/routes.ts', '../domains/users/rest.ts', 'thing'],
  ['src/domains/users/operations.ts', '../organizations/entity.ts', 'thing'],
  ['src/domains/users/operations.ts', '../organizations/operations.ts', 'thing'],
  ['src/domains/users/operations.ts', '../../core/errors.ts', 'thing'],
  ['src/domains/users/graphql.ts', '../organizations/graphql.ts', 'thing'],
  ['src/domains/users/rest.ts', '../../core/sql.ts', 'toIsoString'],
] as const)('%s may import %s', async ([file, from, name]) => {
  expect(await refusalsOf(file, importOf(from, name))).toEqual([]);
});

test('operations know neither Request nor Response', async () => {
  expect(await refusalsOf('src/domains/users/operations.ts', 'export const used = new Response(null);\n')).toEqual([
    'no-restricted-globals',
  ]);
});
