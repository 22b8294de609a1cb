// The linter holds the directions of imports (`.oxlintrc.json`); this holds the linter's configuration.
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { checkout, run } from '../support/processes/process.ts';

const REFUSED = [
  ['src/core/postgres/keyset.ts', '../domains/users/entity.ts'],
  ['src/core/postgres/keyset.ts', '../gateway/routes.ts'],
  ['src/core/postgres/keyset.ts', '../main.ts'],
  ['src/core/postgres/keyset.ts', '../operator/commands.ts'],
  ['src/gateway/routes.ts', '../main.ts'],
  ['src/gateway/routes.ts', '../operator/commands.ts'],
  ['src/operator/commands.ts', '../cli.ts'],
  ['src/domains/users/entity.ts', '../../gateway/routes.ts'],
  ['src/domains/users/entity.ts', '../../operator/commands.ts'],
  ['src/domains/users/entity.ts', '../organizations/slug.ts'],
  ['src/domains/users/operations.ts', '../organizations/input.ts'],
  ['src/domains/users/operations.ts', './graphql.ts'],
  ['src/domains/users/operations.ts', './rest.ts'],
  ['src/domains/users/operations.ts', '../../core/graphql/builder.ts'],
  ['src/domains/users/operations.ts', 'graphql'],
  ['src/domains/users/key-operations.ts', '../../gateway/routes.ts'],
  ['src/domains/users/graphql.ts', './rest.ts'],
  ['src/domains/users/graphql.ts', '@mikro-orm/postgresql'],
  ['src/domains/users/graphql.ts', '../../core/postgres/connections.ts'],
  ['src/domains/users/graphql.ts', '../organizations/slug.ts'],
  ['src/domains/users/rest.ts', './graphql.ts'],
  ['src/domains/users/rest.ts', '../../core/postgres/sql.ts'],
  ['src/domains/users/rest.ts', '../../gateway/routes.ts'],
] as const;

const ACCEPTED = [
  ['src/cli.ts', './operator/commands.ts', 'thing'],
  ['src/operator/commands.ts', '../gateway/dependencies.ts', 'thing'],
  ['src/gateway/routes.ts', '../domains/users/rest.ts', 'thing'],
  ['src/domains/users/operations.ts', '../organizations/entity.ts', 'thing'],
  ['src/domains/users/operations.ts', '../organizations/operations.ts', 'thing'],
  ['src/domains/users/operations.ts', '../../core/errors.ts', 'thing'],
  ['src/domains/users/graphql.ts', '../organizations/graphql.ts', 'thing'],
  ['src/domains/users/rest.ts', '../../core/postgres/sql.ts', 'toIsoString'],
] as const;

const OPERATIONS = 'src/domains/users/operations.ts';
const ANSWERS = 'export const used = new Response(null);';

const importOf = (from: string, name = 'thing') =>
  `import { ${name} as ${name}Of${from.replaceAll(/\W/g, '_')} } from '${from}';`;

/** By file and line, what the linter refuses the line for. */
const refusals = new Map<string, string[]>();
const refusalsOf = (file: string, line: string) => refusals.get(`${file}: ${line}`);

// One run of the linter over files that hold one line for every case.
beforeAll(async () => {
  const project = await mkdtemp(join(tmpdir(), 'gateway-lint-'));
  const cases: (readonly [file: string, line: string])[] = [
    ...[...REFUSED, ...ACCEPTED].map(([file, from, name]) => [file, importOf(from, name)] as const),
    [OPERATIONS, ANSWERS],
  ];
  const files = Map.groupBy(cases, ([file]) => file);
  try {
    await cp(join(checkout, '.oxlintrc.json'), join(project, '.oxlintrc.json'));
    for (const [file, lines] of files) {
      await mkdir(dirname(join(project, file)), { recursive: true });
      await writeFile(join(project, file), lines.map(([, line]) => `${line}\n`).join(''));
    }
    const oxlint = join(checkout, 'node_modules/.bin/oxlint');
    const { stdout } = await run(
      [oxlint, '--config', join(project, '.oxlintrc.json'), '--format', 'unix', project],
      {},
    );
    for (const [file, lines] of files) {
      for (const [index, [, line]] of lines.entries()) {
        const found = stdout.split('\n').filter((text) => text.includes(`${file}:${index + 1}:`));
        const rules = found.flatMap((text) => /\[Error\/eslint\((no-restricted-\w+)\)\]/.exec(text)?.[1] ?? []);
        refusals.set(`${file}: ${line}`, rules);
      }
    }
  } finally {
    await rm(project, { recursive: true, force: true });
  }
});

test.for(REFUSED)('%s may not import %s', ([file, from]) => {
  expect(refusalsOf(file, importOf(from))).toEqual(['no-restricted-imports']);
});

test.for(ACCEPTED)('%s may import %s', ([file, from, name]) => {
  expect(refusalsOf(file, importOf(from, name))).toEqual([]);
});

test('operations know neither Request nor Response', () => {
  expect(refusalsOf(OPERATIONS, ANSWERS)).toEqual(['no-restricted-globals']);
});
