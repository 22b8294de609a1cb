import type { EntityManager } from '@mikro-orm/postgresql';
import { ConfigurationError } from '../core/config.ts';
import { type Database, openDatabase } from '../core/postgres/connections.ts';
import { migrate } from '../core/postgres/migrations.ts';
import { checkServer } from '../core/postgres/server-check.ts';
import { startFault } from '../core/postgres/start-faults.ts';
import { findSecretFault } from '../core/secrets/secret-check.ts';
import { SECRET_COLUMN } from '../core/secrets/secret-store.ts';
import type { Dependencies } from './dependencies.ts';
import { entities } from './modules.ts';
import { ID_TOKEN_COLUMN } from '../domains/api-keys/public.ts';
import { ARGUMENTS_COLUMN } from '../domains/tool-approvals/public.ts';
import { ANSWER_COLUMN } from './idempotency/entity.ts';

type Prepared = Pick<Dependencies, 'database' | 'config' | 'log'>;

/**
 * First step of a start: checks the database server, and migrates the schema to this version.
 * @param note is called while a migration waits for others
 * @throws ConfigurationError when an operator can fix the cause.
 */
export async function prepareDatabase(
  { database, config, log }: Prepared,
  note = (line: string): void => log.info(line),
): Promise<void> {
  await onDirectDatabase({ database, config }, async (direct, variable) => {
    await checkServer(direct.em.fork(), variable);
    await migrate(direct, { note });
  });
  if (config.DATABASE_DIRECT_URL === undefined) return;
  const variable = databaseVariable(config);
  await withConfigurationErrors(variable, async () => {
    await checkServer(database.em.fork(), variable);
    if (config.DATABASE_POOLER) await warnOfSettings(database.em.fork(), log);
  });
}

/** Works on the database without the pooler. */
export async function onDirectDatabase<Result>(
  { database, config }: Pick<Prepared, 'database' | 'config'>,
  work: (direct: Database, variable: string) => Promise<Result>,
): Promise<Result> {
  const { DATABASE_DIRECT_URL: url } = config;
  const variable = url === undefined ? databaseVariable(config) : 'DATABASE_DIRECT_URL';
  const direct = url === undefined ? database : await openDatabase({ url, entities });
  try {
    return await withConfigurationErrors(variable, () => work(direct, variable));
  } finally {
    if (direct !== database) await direct.close(true);
  }
}

/** Converts failures to connect to a ConfigurationError that names the variable. */
async function withConfigurationErrors<Result>(variable: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    throw databaseFault(cause, variable);
  }
}

/** An error of the database at the start as one line for the operator; any other error as it is. */
export function databaseFault(error: unknown, variable: string): unknown {
  if (error instanceof ConfigurationError || !(error instanceof Error)) return error;
  const line = startFault(error, variable);
  return line === undefined ? error : new ConfigurationError(line, { cause: error });
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

/** All columns of encrypted values. */
export const SEALED_COLUMNS = [SECRET_COLUMN, ID_TOKEN_COLUMN, ARGUMENTS_COLUMN, ANSWER_COLUMN];

/** Checks the encryption keys. @throws ConfigurationError that names the key id when stored data cannot be decrypted. */
export async function checkSecrets({
  database,
  secrets,
  config,
}: Pick<Dependencies, 'database' | 'secrets' | 'config'>): Promise<void> {
  const fault = await findSecretFault(database.em.fork(), secrets, SEALED_COLUMNS);
  const variable = config.ENCRYPTION_KEYS ? 'ENCRYPTION_KEYS' : 'DATA_DIR: the file encryption-keys';
  if (fault !== undefined) throw new ConfigurationError(`${variable}: ${fault}`);
}
