import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Config, ConfigurationError } from '../core/config.ts';
import {
  type EmbeddedPostgres,
  findRunningEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../core/postgres/embedded/server.ts';
import { limitLines } from '../core/postgres/outages.ts';
import { type SecretBox, createSecretBox, loadOrCreateKeyFile } from '../core/secrets/secrets.ts';
import { type Dependencies, createDependencies } from './dependencies.ts';

export interface Assembly {
  readonly dependencies: Dependencies;
  /** The embedded server that was started for it, if one was. */
  readonly embedded: EmbeddedPostgres | undefined;
  /** Closes the database, and stops the embedded server. */
  close(): Promise<void>;
}

/**
 * Puts the gateway's parts together from its configuration. Without `DATABASE_URL` the database is the embedded one in `DATA_DIR`: it is
 * started, or with `joinRunning` that of a gateway which runs already is used.
 * @throws ConfigurationError when the data directory cannot be used, or another gateway uses it.
 */
export async function assemble(config: Config, log: Logger, { joinRunning = false } = {}): Promise<Assembly> {
  const secrets = await openSecretBox(config).catch(dataDirMustServe);
  const running = config.DATABASE_URL ?? (joinRunning ? await findRunningEmbeddedPostgres(config.DATA_DIR) : undefined);
  const embedded = running === undefined ? await startEmbedded(config, log) : undefined;
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

/** In a minute. With those about the database that is away they are the five lines that an outage may have. */
const EMBEDDED_LINES = 3;

function startEmbedded({ DATA_DIR }: Config, log: Logger): Promise<EmbeddedPostgres> {
  const lines = limitLines(log, EMBEDDED_LINES);
  return startEmbeddedPostgres({
    dataDir: DATA_DIR,
    log: (line) => log.debug({ postgres: line }, 'postgres'),
    report: (sentence) => lines.warn({}, sentence),
  }).catch(dataDirMustServe);
}

function dataDirMustServe(cause: unknown): never {
  throw new ConfigurationError(`DATA_DIR: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
}

/** The keys of `ENCRYPTION_KEYS`, or those of the embedded database's own key file. */
async function openSecretBox({ ENCRYPTION_KEYS, DATA_DIR }: Config): Promise<SecretBox> {
  if (ENCRYPTION_KEYS) return createSecretBox(ENCRYPTION_KEYS);
  await mkdir(DATA_DIR, { recursive: true });
  return createSecretBox(await loadOrCreateKeyFile(join(DATA_DIR, 'encryption-keys')));
}
