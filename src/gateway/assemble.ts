import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Config, ConfigurationError } from '../core/config.ts';
import {
  type EmbeddedPostgres,
  findRunningEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../core/postgres/embedded/server.ts';
import { type SecretBox, createSecretBox, loadOrCreateKeyFile } from '../core/secrets/secrets.ts';
import { type Dependencies, createDependencies } from './dependencies.ts';

export interface Assembly {
  readonly dependencies: Dependencies;
  /** The embedded server, if one was started. */
  readonly embedded: EmbeddedPostgres | undefined;
  /** Closes the database, and stops the embedded server. */
  close(): Promise<void>;
}

/**
 * Creates the dependencies of the gateway from its configuration. Without `DATABASE_URL` it starts the embedded
 * database in `DATA_DIR`; with
 * `joinRunning` it uses the embedded database of a running gateway.
 * @throws ConfigurationError when the data directory cannot be used, or another gateway uses it.
 */
export async function assemble(
  config: Config,
  log: Logger,
  { joinRunning = false, longStartMs = LONG_START_MS } = {},
): Promise<Assembly> {
  const secrets = await openSecretBox(config).catch(dataDirectoryFailed);
  const running = config.DATABASE_URL ?? (joinRunning ? await findRunningEmbeddedPostgres(config.DATA_DIR) : undefined);
  const embedded = running === undefined ? await startEmbedded(config, log, longStartMs) : undefined;
  try {
    const dependencies = await createDependencies({
      config,
      databaseUrl: running ?? embedded?.url ?? '',
      secrets,
      log,
    });
    const close = async () => {
      await dependencies.close();
      await embedded?.stop();
    };
    return { dependencies, embedded, close };
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
}

/** A start that takes longer says what it waits for. */
const LONG_START_MS = 3000;

async function startEmbedded({ DATA_DIR }: Config, log: Logger, longStartMs: number): Promise<EmbeddedPostgres> {
  const timer = setTimeout(() => log.info('starting PostgreSQL…'), longStartMs);
  try {
    return await startEmbeddedPostgres({
      dataDir: DATA_DIR,
      log: (line) => log.debug({ postgres: line }, 'postgres'),
    });
  } catch (error) {
    return dataDirectoryFailed(error);
  } finally {
    clearTimeout(timer);
  }
}

function dataDirectoryFailed(cause: unknown): never {
  throw new ConfigurationError(`DATA_DIR: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
}

/** Opens the keys of `ENCRYPTION_KEYS`, or of the key file of the embedded database. */
async function openSecretBox({ ENCRYPTION_KEYS, DATA_DIR }: Config): Promise<SecretBox> {
  if (ENCRYPTION_KEYS) return createSecretBox(ENCRYPTION_KEYS);
  await mkdir(DATA_DIR, { recursive: true });
  return createSecretBox(await loadOrCreateKeyFile(join(DATA_DIR, 'encryption-keys')));
}
