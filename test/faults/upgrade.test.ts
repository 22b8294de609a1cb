import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createDemoWorkspace } from '../../src/operator/demo-workspace.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { startWriting } from '../support/oracles/ledger.ts';
import {
  type GatewayProcess,
  endProcesses,
  emptyDatabase,
  run,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';
import { checkout } from '../support/processes/programs.ts';
import { full, proof } from '../support/proof.ts';

afterEach(endProcesses);

/** Everything that a migration may change: columns, indexes and constraints of every table. */
const SCHEMA = `
  select 'column' as kind, c.relname || '.' || a.attname as name, format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end as definition
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
  union all select 'index', indexname, indexdef from pg_indexes where schemaname = 'public'
  union all select 'constraint', conrelid::regclass || ' ' || conname, pg_get_constraintdef(oid) from pg_constraint
    where connamespace = 'public'::regnamespace
  union all select 'table', relname, relkind::text || relpersistence::text from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
  order by 1, 2, 3`;

const schemaOf = ({ dependencies }: TestGateway) =>
  dependencies.database.em.fork().execute<{ kind: string; name: string; definition: string }[]>(SCHEMA);

async function countsOf(gateway: TestGateway): Promise<Record<string, number>> {
  const tables = (await schemaOf(gateway)).filter(
    ({ kind, name, definition }) => kind === 'table' && name !== 'mikro_orm_migrations' && definition !== 'ru',
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await gateway.dependencies.database.em
      .fork()
      .execute<{ count: number }[]>(`select count(*)::int as count from "${name}"`);
    counts[name] = row?.count ?? 0;
  }
  return counts;
}

const common = (one: Record<string, number>, other: Record<string, number>) =>
  Object.fromEntries(Object.entries(one).filter(([name]) => name in other));

test('every migration can be applied to a database with data and reverted, and changes no other rows', async () => {
  const gateway = await startTestGateway();
  try {
    const { migrator } = gateway.dependencies.database;
    await createDemoWorkspace(gateway.dependencies);
    const { key } = await gateway.createKey();
    const ledger = startWriting(gateway.fetch, key);
    await ledger.next(40);
    await ledger.stop();

    const newest = await schemaOf(gateway);
    const rows = await countsOf(gateway);
    expect(rows['session_event']).toBeGreaterThan(0);
    const names = (await migrator.getExecuted()).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names.toReversed()) {
      const [above, schema] = [await countsOf(gateway), await schemaOf(gateway)];
      await migrator.down();
      const below = await countsOf(gateway);
      expect(common(above, below), `${name} down`).toEqual(common(below, above));
      const schemaBelow = await schemaOf(gateway);
      await migrator.up({ to: name });
      const again = await countsOf(gateway);
      // A migration can make a view of a table.
      expect(common(again, below), `${name} up`).toEqual(common(below, again));
      expect(await schemaOf(gateway), `${name} up again`).toEqual(schema);
      await migrator.down();
      expect(await schemaOf(gateway), `${name} down again`).toEqual(schemaBelow);
    }
    expect(await countsOf(gateway)).toEqual({});
    await migrator.up();
    expect(await schemaOf(gateway)).toEqual(newest);
    const after = startWriting(gateway.fetch, (await gateway.createKey()).key);
    await after.next(20);
    await after.stop();
    expect(await after.check()).toEqual({ lost: [], doubled: [] });
    proof('Migrations', {
      figures: {
        'migrations, each up on data, down, up again': names.length,
        'tables with rows meanwhile': Object.values(rows).filter((count) => count > 0).length,
      },
    });
  } finally {
    await gateway.close();
  }
});

const git = (...args: string[]) => execFileSync('git', args, { cwd: checkout, encoding: 'utf8' }).trim();

/** Earlier commits, best first: the one before the last migration, then the previous one. Empty if there is no history. */
function earlierCommits(): string[] {
  const here = new Set(readdirSync(join(checkout, 'migrations')));
  return ['log -1 --format=%H~1 HEAD -- migrations', 'rev-parse HEAD~1'].flatMap((command) => {
    try {
      const commit = git('rev-parse', '--verify', '--quiet', git(...command.split(' ')));
      const files = git('ls-tree', '--name-only', commit, 'migrations/').split('\n');
      // A commit with migrations that no longer exist cannot be upgraded to this one.
      return files.every((file) => here.has(file.replace('migrations/', ''))) ? [commit] : [];
    } catch {
      return [];
    }
  });
}

interface Earlier {
  readonly gateway: GatewayProcess;
  readonly root: string;
  readonly commit: string;
}

/** Starts a gateway of an earlier commit with the current packages. Undefined if no earlier one is available or runs with them. */
async function startEarlier(env: Record<string, string>): Promise<Earlier | undefined> {
  for (const commit of earlierCommits()) {
    const root = await temporaryDirectory();
    const archive = join(root, 'archive.tar');
    execFileSync('git', ['archive', '--output', archive, commit], { cwd: checkout });
    execFileSync('tar', ['-xf', archive, '-C', root]);
    symlinkSync(realpathSync(join(checkout, 'node_modules')), join(root, 'node_modules'));
    try {
      return { gateway: await startGateway(env, root), root, commit };
    } catch {
      // That commit needs packages that are no longer installed.
    }
  }
  return undefined;
}

test('a gateway of an earlier commit and the current one serve the same database during and after the migration', async ({
  skip,
}) => {
  const env = { ...(await emptyDatabase()), RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' };
  const earlier =
    (await startEarlier(env)) ??
    skip('this clone has no earlier commit that runs with the current packages: git fetch --unshallow');
  const organization = `org-${randomBytes(4).toString('hex')}`;
  const keys = ['keys', 'create', '--email', 'a@example.com', '--organization', organization];
  const created = await run([process.execPath, join(earlier.root, 'src/cli.ts'), ...keys], env);
  const { key } = JSON.parse(created.stdout) as { key: string };
  const through = (gateway: GatewayProcess) => (path: string, init: RequestInit) => fetch(gateway.url + path, init);

  const before = startWriting(through(earlier.gateway), key, { writers: 4, seed: 1, prefix: 'earlier' });
  await before.next(20);
  const present = await startGateway(env);
  const beside = before.acknowledged();
  const after = startWriting(through(present), key, { writers: 4, seed: 2, prefix: 'present' });
  await Promise.all([before.next(full ? 1_000 : 20), after.next(full ? 1_000 : 20)]);
  await Promise.all([before.stop(), after.stop()]);

  for (const ledger of [before, after]) {
    expect([...ledger.answers.keys()].filter((status) => !/^2\d\d$/.test(status))).toEqual([]);
    expect(await ledger.check()).toEqual({ lost: [], doubled: [] });
  }
  proof('Upgrade, side by side', {
    figures: {
      'earlier commit': earlier.commit.slice(0, 12),
      'writes through it': before.acknowledged(),
      'of them after the newer one had started': before.acknowledged() - beside,
      'writes through the newer one': after.acknowledged(),
      'errors on either': 0,
      lost: 0,
      doubled: 0,
    },
  });
});
