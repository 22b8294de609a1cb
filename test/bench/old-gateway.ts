import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { type Target, startTarget } from './process.ts';
import type { SeedOptions } from './seed.ts';

/** The gateway of an older checkout, which has its own packages, and a database of its own with the same data: it refuses a newer schema. */

export interface OldGateway {
  readonly target: Target;
  readonly key: string;
}

interface OldOptions {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly events: number;
  readonly directory: string;
}

const NAME = 'old_gateway';

export async function startOldGateway({ root, env, events, directory }: OldOptions): Promise<OldGateway> {
  const packages = join(root, 'node_modules');
  const url = await createDatabase(env['DATABASE_URL'] ?? '');
  const variables = {
    ...env,
    DATABASE_URL: url,
    PATH: [join(packages, '.bin'), process.env['PATH'] ?? ''].join(delimiter),
    NODE_COMPILE_CACHE: join(packages, '.cache/compiled'),
  };
  const cli = async (...args: string[]) => {
    const options = { cwd: root, env: { HOME: process.env['HOME'] ?? '', ...variables } };
    return (await promisify(execFile)(join(packages, '.bin/node'), ['src/cli.ts', ...args], options)).stdout;
  };
  await cli('migrate');
  const created = await cli('keys', 'create', '--email', 'bench@example.com', '--organization', 'bench');
  const key = /wgk_\w+/.exec(created)?.[0];
  if (key === undefined) throw new Error(`no key was created: ${created}`);
  const seeding = (await import(join(root, 'test/bench/seed.ts'))) as { seed(options: SeedOptions): Promise<void> };
  await seeding.seed({ url, events, ...(await callerIn(url)) });
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
  const target = await startTarget({
    name: 'old gateway',
    command: ['sh', '-c', scripts.start],
    env: variables,
    root,
    directory,
  });
  return { target, key };
}

async function createDatabase(url: string): Promise<string> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(`drop database if exists ${NAME} with (force)`);
    await client.query(`create database ${NAME}`);
  } finally {
    await client.end();
  }
  const created = new URL(url);
  created.pathname = `/${NAME}`;
  return created.href;
}

async function callerIn(url: string): Promise<Pick<SeedOptions, 'organizationId' | 'userId'>> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ organizationId: string; userId: string }>(
      'select organization_id as "organizationId", user_id as "userId" from membership',
    );
    const [caller] = rows;
    if (!caller) throw new Error('the key has no organization');
    return caller;
  } finally {
    await client.end();
  }
}
