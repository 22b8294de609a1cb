import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { inspect } from 'node:util';
import pg from 'pg';
import { pino } from 'pino';
import { readConfig } from '../../src/core/config.ts';
import { migrate } from '../../src/core/postgres/migrations.ts';
import { startEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import { createSecretBox, parseEncryptionKeys } from '../../src/core/secrets/secrets.ts';
import { issueKey } from '../../src/operator/issue-key.ts';
import { type Dependencies, createDependencies } from '../../src/gateway/dependencies.ts';
import { GATEWAY } from '../support/processes/programs.ts';
import { type OldGateway, startOldGateway } from './old-gateway.ts';
import { type Target, interrupt, startTarget } from './process.ts';
import { BIG_SESSION, seed } from './seed.ts';

/** A seeded database, and functions to start baseline and gateway on it. */

export interface Bench {
  readonly databaseUrl: string;
  readonly organizationId: string;
  readonly key: string;
  /** The MCP server behind both. */
  readonly mcpServer: Target;
  /** The variables of gateways. */
  readonly gatewayEnv: Readonly<Record<string, string>>;
  /** Baseline and gateway, in this order; stopped when `use` has ended. */
  withTargets<Result>(use: (targets: [Target, Target]) => Promise<Result>): Promise<Result>;
  /** The gateway of the older checkout that the variable OLD names; undefined without one. */
  withOld<Result>(use: (old: OldGateway | undefined) => Promise<Result>): Promise<Result>;
  startGateway(nodeOptions?: string): Promise<Target>;
  /** A key of another user of the organization. */
  issueKey(): Promise<string>;
  stop(): Promise<void>;
}

/** Durable, as in production. Checkpoints are so rare that they hardly affect a round. */
const SETTINGS = { shared_buffers: '512MB', max_wal_size: '8GB', checkpoint_timeout: '30min', max_connections: '200' };
/** The pool size of both, which is the default of the gateway. */
const POOL = 20;
const BASELINE = join(import.meta.dirname, 'baseline.ts');
export const MCP_SERVER = join(import.meta.dirname, 'mcp-server.ts');
const PUBLIC_URL = 'http://gateway.example.com';

/**
 * Sets up in a temporary directory, or in that of `data`, which is kept, and cleans up. A failure, and the first SIGINT or SIGTERM, end it with
 * status 1.
 */
export async function runBench(
  {
    events,
    data,
    say,
  }: { readonly events: number; readonly data?: string | undefined; readonly say: (line: string) => void },
  use: (bench: Bench, directory: string) => Promise<void>,
): Promise<void> {
  // Only once: a second signal ends the process.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt);
  try {
    const directory = data ?? (await mkdtemp(join(tmpdir(), 'gateway-bench-')));
    try {
      await mkdir(directory, { recursive: true });
      const bench = await setUp(directory, events, say);
      try {
        await use(bench, directory);
      } finally {
        await bench.stop();
      }
    } finally {
      if (data === undefined) await rm(directory, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
    }
  } catch (error) {
    say(inspect(error));
    process.exitCode = 1;
  }
}

/** @param directory The folder of the cluster, which is seeded if necessary, and of the logs. */
export async function setUp(
  directory: string,
  events: number,
  say: (line: string) => void,
  settings: Record<string, string> = SETTINGS,
): Promise<Bench> {
  const postgres = await startEmbeddedPostgres({ dataDir: directory, log: () => undefined, settings });
  const encryptionKeys = `bench:${randomBytes(32).toString('base64')}`;
  let mcpServer: Target | undefined;
  const stop = async () => {
    await mcpServer?.stop();
    await postgres.stop();
  };
  try {
    const known = (mcpServer = await startTarget({
      name: 'MCP server',
      command: [process.execPath, MCP_SERVER],
      env: {},
      directory,
    }));
    const caller = await prepare(postgres.url, encryptionKeys, events, say);
    const baselineEnv = { DATABASE_URL: postgres.url, PUBLIC_URL, POOL: String(POOL), MCP_SERVER: known.url };
    const gatewayEnv = {
      DATABASE_URL: postgres.url,
      PUBLIC_URL,
      PORT: '0',
      ENCRYPTION_KEYS: encryptionKeys,
      RATE_LIMIT_PER_MINUTE: '0',
      // The MCP server is on this machine.
      ALLOW_PRIVATE_NETWORK: 'true',
    };
    const startBaseline = () =>
      startTarget({ name: 'baseline', command: [process.execPath, BASELINE], env: baselineEnv, directory });
    const startGateway: Bench['startGateway'] = (nodeOptions = '') => {
      const env = { ...gatewayEnv, NODE_OPTIONS: nodeOptions };
      return startTarget({ name: 'gateway', command: [GATEWAY, 'start'], env, directory });
    };
    const withTargets: Bench['withTargets'] = async (use) => {
      await using baseline = stoppable(await startBaseline());
      await using gateway = stoppable(await startGateway());
      return await use([baseline.target, gateway.target]);
    };
    const withOld: Bench['withOld'] = async (use) => {
      const { OLD } = process.env;
      if (OLD === undefined) return use(undefined);
      const old = await startOldGateway({ root: resolve(OLD), env: gatewayEnv, events, directory });
      await using _ = stoppable(old.target);
      return await use(old);
    };
    const issue = () =>
      withDependencies(postgres.url, encryptionKeys, (dependencies) =>
        issueKey(dependencies, { email: `${randomBytes(6).toString('hex')}@example.com`, organization: 'bench' }),
      );
    return {
      databaseUrl: postgres.url,
      ...caller,
      mcpServer: known,
      gatewayEnv,
      startGateway,
      issueKey: async () => (await issue()).key,
      withTargets,
      withOld,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function stoppable(target: Target) {
  return { target, [Symbol.asyncDispose]: () => target.stop() };
}

async function withDependencies<Result>(
  url: string,
  encryptionKeys: string,
  use: (dependencies: Dependencies) => Promise<Result>,
): Promise<Result> {
  const dependencies = await createDependencies({
    config: readConfig({}),
    databaseUrl: url,
    secrets: createSecretBox(parseEncryptionKeys(encryptionKeys)),
    log: pino({ level: 'silent' }),
  });
  try {
    return await use(dependencies);
  } finally {
    await dependencies.close();
  }
}

function prepare(
  url: string,
  encryptionKeys: string,
  events: number,
  say: (line: string) => void,
): Promise<{ key: string; organizationId: string }> {
  return withDependencies(url, encryptionKeys, async (dependencies) => {
    await migrate(dependencies.database);
    const seeded = await readSeeded(url);
    const { key, organizationId, userId } = await issueKey(dependencies, {
      email: 'bench@example.com',
      organization: 'bench',
    });
    if (seeded === undefined) {
      const began = performance.now();
      await seed({ url, organizationId, userId, events });
      say(`seeded ${events} events and the rest in ${Math.round((performance.now() - began) / 1000)} s`);
    } else if (seeded < events)
      throw new Error(`the database given with --data has ${seeded} events; ask for at most as many with --events`);
    return { key, organizationId };
  });
}

/** The number of events of the long session; undefined in a new database. Deletes keys of earlier runs, which nobody knows any more. */
async function readSeeded(url: string): Promise<number | undefined> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query('delete from api_key');
    const { rows } = await client.query<{ lastId: string }>(
      'select last_id as "lastId" from session_stream where session_id = $1',
      [BIG_SESSION],
    );
    return rows[0] && Number(rows[0].lastId);
  } finally {
    await client.end();
  }
}
