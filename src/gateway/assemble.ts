import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../core/config.ts';
import { openDatabase } from '../core/database.ts';
import { type EmbeddedPostgres, findRunningEmbeddedPostgres, startEmbeddedPostgres } from '../core/embedded-postgres.ts';
import { type SecretBox, createSecretBox, loadOrCreateKeyFile } from '../core/secrets.ts';
import { createSql } from '../core/sql.ts';
import type { Dependencies } from './dependencies.ts';
import { entities } from './entities.ts';
import { createMetrics } from './metrics.ts';

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
 */
export async function assemble(config: Config, log: Logger, { joinRunning = false } = {}): Promise<Assembly> {
  const secrets = await openSecretBox(config);
  const running = joinRunning && !config.DATABASE_URL ? await findRunningEmbeddedPostgres(config.DATA_DIR) : undefined;
  const embedded =
    config.DATABASE_URL || running ? undefined : await startEmbeddedPostgres({ dataDir: config.DATA_DIR, log: (line) => log.debug({ postgres: line }, 'postgres') });
  try {
    const url = config.DATABASE_URL ?? running ?? embedded?.url ?? '';
    const database = await openDatabase({ url, entities });
    const dependencies: Dependencies = {
      config,
      database,
      sql: await createSql(database),
      secrets,
      log,
      metrics: createMetrics(),
      now: () => new Date(),
      newId: randomUUID,
    };
    return {
      dependencies,
      embedded,
      close: async () => {
        await database.close(true);
        await embedded?.stop();
      },
    };
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
}

/** The keys of `ENCRYPTION_KEYS`, or those of the embedded database's own key file. */
async function openSecretBox({ ENCRYPTION_KEYS, DATA_DIR }: Config): Promise<SecretBox> {
  if (ENCRYPTION_KEYS) return createSecretBox(ENCRYPTION_KEYS);
  await mkdir(DATA_DIR, { recursive: true });
  return createSecretBox(await loadOrCreateKeyFile(join(DATA_DIR, 'encryption-keys')));
}
