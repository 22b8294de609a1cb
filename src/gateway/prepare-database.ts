import type { EntityManager } from '@mikro-orm/postgresql';
import { ConfigurationError } from '../core/config.ts';
import { causesOf } from '../core/causes.ts';
import { openDatabase } from '../core/postgres/connections.ts';
import { isDatabaseAway } from '../core/postgres/failures.ts';
import { migrate } from '../core/postgres/migrations.ts';
import { checkServer } from '../core/postgres/server-check.ts';
import { findSecretFault } from '../core/secrets/secret-check.ts';
import { SECRET_COLUMN } from '../core/secrets/secret-store.ts';
import type { Dependencies } from './dependencies.ts';
import { entities } from './entities.ts';
import { ANSWER_COLUMN } from './idempotency/entity.ts';

type Prepared = Pick<Dependencies, 'database' | 'config' | 'log'>;

/**
 * First step of a start: checks the database server, and migrates the schema to this version.
 * @throws ConfigurationError when an operator can fix the cause.
 */
export async function prepareDatabase({ database, config, log }: Prepared): Promise<void> {
  const variable = databaseVariable(config);
  const { DATABASE_DIRECT_URL: directUrl } = config;
  if (directUrl === undefined) {
    await withConfigurationErrors(variable, async () => {
      await checkServer(database.em.fork(), variable);
      await migrate(database);
    });
    return;
  }
  const direct = await openDatabase({ url: directUrl, entities });
  try {
    await withConfigurationErrors('DATABASE_DIRECT_URL', async () => {
      await checkServer(direct.em.fork(), 'DATABASE_DIRECT_URL');
      await migrate(direct);
    });
  } finally {
    await direct.close(true);
  }
  await withConfigurationErrors(variable, async () => {
    await checkServer(database.em.fork(), variable);
    if (config.DATABASE_POOLER) await warnOfSettings(database.em.fork(), log);
  });
}

/** Converts failures to connect to a ConfigurationError that names the variable. */
async function withConfigurationErrors(variable: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw databaseFault(cause, variable);
  }
}

/** An error of the database at the start as one line for the operator; any other error as it is. */
export function databaseFault(error: unknown, variable: string): unknown {
  if (error instanceof ConfigurationError || !(error instanceof Error)) return error;
  if (isDatabaseAway(error))
    return new ConfigurationError(`${variable}: the database does not answer: ${error.message}`, { cause: error });
  // An SQLSTATE: the server has refused a statement. Only the last cause is without the statement.
  const causes = causesOf(error);
  const isRefused = causes.some((cause) => 'code' in cause && /^[0-9A-Z]{5}$/.test(String(cause.code)));
  return isRefused ? new ConfigurationError(`${variable}: ${causes.at(-1)?.message}`, { cause: error }) : error;
}

/** The variable that names the database. */
export const databaseVariable = ({ DATABASE_URL }: Pick<Dependencies['config'], 'DATABASE_URL'>) =>
  DATABASE_URL ? 'DATABASE_URL' : 'DATA_DIR';

const isOff = (setting: string) => setting === '0';
const NEEDED = [
  {
    name: 'default_transaction_isolation',
    value: 'read committed',
    isMissing: (setting: string) => setting !== 'read committed',
  },
  { name: 'idle_in_transaction_session_timeout', value: '30s', isMissing: isOff },
  { name: 'statement_timeout', value: '30s', isMissing: isOff },
];

/** Behind a pooler the gateway cannot set anything for a session, so the database role should have these settings. */
async function warnOfSettings(em: EntityManager, log: Dependencies['log']): Promise<void> {
  for (const { name, value, isMissing } of NEEDED) {
    const [row] = await em.execute<{ setting: string }[]>('select current_setting(?) as setting', [name]);
    if (row && isMissing(row.setting))
      log.warn(`behind a pooler ${name} must be set for the database role: alter role … set ${name} = '${value}'`);
  }
}

/** Checks the encryption keys. @throws ConfigurationError that names the key id when stored data cannot be decrypted. */
export async function checkSecrets({
  database,
  secrets,
  config,
}: Pick<Dependencies, 'database' | 'secrets' | 'config'>): Promise<void> {
  const fault = await findSecretFault(database.em.fork(), secrets, [SECRET_COLUMN, ANSWER_COLUMN]);
  const variable = config.ENCRYPTION_KEYS ? 'ENCRYPTION_KEYS' : 'DATA_DIR: the file encryption-keys';
  if (fault !== undefined) throw new ConfigurationError(`${variable}: ${fault}`);
}
