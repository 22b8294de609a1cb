import { ConfigurationError } from '../core/config.ts';
import { isDatabaseAway } from '../core/postgres/failures.ts';
import { migrate } from '../core/postgres/migrations.ts';
import { checkServer } from '../core/postgres/server-check.ts';
import { findSecretFault } from '../core/secrets/secret-check.ts';
import { SECRET_COLUMN } from '../core/secrets/secret-store.ts';
import type { Dependencies } from './dependencies.ts';
import { ANSWER_COLUMN } from './idempotency/entity.ts';

/**
 * What comes before anything else at a start: checks the server, and brings the schema up to this version.
 * @throws ConfigurationError where an operator can mend the cause.
 */
export async function prepareDatabase({ database, config }: Pick<Dependencies, 'database' | 'config'>): Promise<void> {
  const variable = config.DATABASE_URL ? 'DATABASE_URL' : 'DATA_DIR';
  try {
    await checkServer(database.em.fork(), variable);
    await migrate(database);
  } catch (cause) {
    if (cause instanceof ConfigurationError || !(cause instanceof Error)) throw cause;
    // SQLSTATE class 28 is a refused login, 3D a database that does not exist.
    const isRefused = 'code' in cause && /^(?:28|3D)/.test(String(cause.code));
    if (!isRefused && !isDatabaseAway(cause)) throw cause;
    throw new ConfigurationError(`${variable}: the database does not answer: ${cause.message}`, { cause });
  }
}

/** @throws ConfigurationError naming the key id, when something that is stored cannot be opened. */
export async function checkSecrets({
  database,
  secrets,
  config,
}: Pick<Dependencies, 'database' | 'secrets' | 'config'>): Promise<void> {
  const fault = await findSecretFault(database.em.fork(), secrets, [SECRET_COLUMN, ANSWER_COLUMN]);
  const variable = config.ENCRYPTION_KEYS ? 'ENCRYPTION_KEYS' : 'DATA_DIR: the file encryption-keys';
  if (fault !== undefined) throw new ConfigurationError(`${variable}: ${fault}`);
}
