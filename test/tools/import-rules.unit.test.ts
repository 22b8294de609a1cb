import { describe, expect, test } from 'vitest';
import { betweenNouns, cyclesOf, faultOf, importsOf } from './import-rules.ts';

/** The fault of a line in a file. */
function faultIn(from: string, line: string): string | undefined {
  const [found] = importsOf(from, `${line}\n`);
  if (!found) throw new Error(`not read as an import: ${line}`);
  return faultOf(found);
}

const value = (path: string) => `import { thing } from '${path}';`;
const type = (path: string) => `import type { Thing } from '${path}';`;

describe('refused', () => {
  test.each([
    ['src/core/jobs.ts', value('../domains/users/entity.ts'), 'core imports nothing of the layers above it.'],
    ['src/core/jobs.ts', type('../gateway/routes.ts'), 'core imports nothing of the layers above it.'],
    ['src/core/jobs.ts', value('../main.ts'), 'core imports nothing of the layers above it.'],
    [
      'src/domains/users/entity.ts',
      value('../../gateway/routes.ts'),
      'domains imports nothing of the layers above it.',
    ],
    ['src/gateway/routes.ts', value('../operator/commands.ts'), 'gateway imports nothing of the layers above it.'],
    ['src/operator/commands.ts', "await import('../cli.ts');", 'operator imports nothing of the layers above it.'],
    ['src/main.ts', value('../docs/examples/make.ts'), 'Nothing imports out of src.'],

    [
      'src/graphql-executor/executor.ts',
      type('../core/errors.ts'),
      'The executor imports graphql and lru-cache alone.',
    ],
    ['src/graphql-executor/executor.ts', value('pino'), 'The executor imports graphql and lru-cache alone.'],
    [
      'src/domains/users/queries.ts',
      value('../../graphql-executor/executor.ts'),
      'Only the gateway uses the executor.',
    ],
    ['src/recorder/main.ts', type('../core/errors.ts'), /^The recorder is one file/],
    ['src/recorder/main.ts', value('pino'), /^The recorder is one file/],
    ['src/console/app.ts', value('../core/errors.ts'), 'The console uses the public API alone.'],
    ['src/gateway/routes.ts', value('../console/app.ts'), 'The console is served, not imported.'],

    ['src/gateway/rest/handler.ts', value('../graphql/limits.ts'), 'A folder of gateway uses only types of another.'],
    [
      'src/gateway/rest/handler.ts',
      "import { type A, b } from '../graphql/limits.ts';",
      'A folder of gateway uses only types of another.',
    ],

    ['src/domains/users/operations.ts', value('../organizations/input.ts'), /^Of another noun only/],
    ['src/domains/users/operations.ts', value('../organizations/operations.ts'), /^Of another noun only/],
    ['src/gateway/contexts.ts', type('../domains/users/entity.ts'), /^Of a noun only/],
    ['src/domains/users/operations.ts', type('../organizations/queries.ts'), /^Of another noun only/],
    ['src/domains/users/operations.ts', value('../organizations/graphql/types.ts'), /^Of another noun only/],
    ['src/domains/users/rest.ts', value('../organizations/graphql/operations.ts'), /^Of another noun only/],

    ['src/domains/users/graphql.ts', value('./rest.ts'), 'GraphQL files do not know REST.'],
    ['src/domains/users/graphql/types.ts', value('../../../core/http/route.ts'), 'GraphQL files do not know REST.'],
    ['src/domains/users/rest.ts', value('./graphql.ts'), 'REST files do not know GraphQL.'],
    ['src/domains/users/rest-documents.ts', value('graphql'), 'REST files do not know GraphQL.'],
    [
      'src/domains/users/graphql.ts',
      value('@mikro-orm/postgresql'),
      'GraphQL and REST files do not touch the database.',
    ],
    [
      'src/domains/users/rest.ts',
      value('../../core/postgres/sql.ts'),
      'GraphQL and REST files do not touch the database.',
    ],
    [
      'src/domains/users/anything.ts',
      value('../../core/graphql/builder.ts'),
      'Only GraphQL and REST files know GraphQL and HTTP.',
    ],
    [
      'src/domains/users/anything.ts',
      value('../../core/http/messages.ts'),
      'Only GraphQL and REST files know GraphQL and HTTP.',
    ],
    ['src/domains/users/anything.ts', type('./rest.ts'), 'Only GraphQL and REST files know GraphQL and HTTP.'],
    ['src/domains/users/oauth/deep.ts', value('@pothos/core'), 'Only GraphQL and REST files know GraphQL and HTTP.'],
  ] as const)('%s: %s', (from, line, fault) => {
    expect(faultIn(from, line)).toMatch(fault);
  });
});

describe('accepted', () => {
  test.each([
    ['src/cli.ts', value('./operator/commands.ts')],
    ['src/cli.ts', value('./recorder/login.ts')],
    ['src/recorder/common.ts', value('../domains/session-events/formats/names.ts')],
    ['src/operator/commands.ts', value('../gateway/dependencies.ts')],
    ['src/gateway/gateway.ts', value('./graphql/handler.ts')],
    ['src/gateway/rest/handler.ts', value('../request-headers.ts')],
    ['src/gateway/rest/handler.ts', type('../idempotency/idempotency.ts')],
    ['src/gateway/rest/handler.ts', "import { type A, type B } from '../idempotency/idempotency.ts';"],
    ['src/gateway/graphql/handler.ts', value('../../graphql-executor/executor.ts')],
    ['src/graphql-executor/executor.ts', value('lru-cache')],
    ['src/domains/users/operations.ts', value('../organizations/public.ts')],
    ['src/gateway/contexts.ts', type('../domains/users/public.ts')],
    ['src/gateway/graphql/viewer.ts', value('../../domains/users/graphql.ts')],
    ['src/domains/users/graphql.ts', value('../organizations/graphql/types.ts')],
    ['src/domains/users/graphql.ts', type('../../core/postgres/sql.ts')],
    ['src/domains/users/queries.ts', value('kysely')],
    ['src/domains/users/rest.ts', value('../../core/http/route.ts')],
  ] as const)('%s: %s', (from, line) => {
    expect(faultIn(from, line)).toBeUndefined();
  });
});

test('cycles are found, also those of types', () => {
  const text = [
    ['src/core/a.ts', value('./b.ts')],
    ['src/core/b.ts', "export { thing } from './c.ts';"],
    ['src/core/c.ts', type('./a.ts')],
    ['src/core/d.ts', value('./a.ts')],
  ] as const;
  const imports = text.flatMap(([from, line]) => importsOf(from, `${line}\n`));
  expect(cyclesOf(imports)).toEqual([['src/core/a.ts', 'src/core/b.ts', 'src/core/c.ts', 'src/core/a.ts']]);
});

test('cycles of nouns are found, although no file is in a cycle', () => {
  const text = [
    ['src/domains/users/a.ts', value('../organizations/public.ts')],
    ['src/domains/organizations/b.ts', type('../users/public.ts')],
    ['src/domains/organizations/c.ts', value('./b.ts')],
  ] as const;
  const imports = text.flatMap(([from, line]) => importsOf(from, `${line}\n`));
  expect(cyclesOf(imports)).toEqual([]);
  expect(cyclesOf(betweenNouns(imports))).toEqual([['users', 'organizations', 'users']]);
});

test('every form of an import is read, with its line', () => {
  const text = `import one from './one.ts';
import {
  type Two,
  type Three,
} from './two.ts';
import './three.ts';
export type { Four } from './four.ts';
const five = await import('./five.ts');
// from './six.ts'
`;
  expect(importsOf('src/core/a.ts', text).map(({ to, typeOnly, line }) => [to, typeOnly, line])).toEqual([
    ['src/core/one.ts', false, 1],
    ['src/core/two.ts', true, 2],
    ['src/core/three.ts', false, 6],
    ['src/core/four.ts', true, 7],
    ['src/core/five.ts', false, 8],
  ]);
});
