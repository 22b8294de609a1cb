import type { EntityManager } from '@mikro-orm/postgresql';
import { ConfigurationError } from '../config.ts';
import { compareSchema } from './migrations.ts';

/** The oldest supported major version of PostgreSQL. */
const OLDEST_VERSION = 15;

const SERVER = `select current_setting('server_version') as version, current_setting('server_version_num')::int / 10000 as major,
  pg_is_in_recovery() as "isStandby"`;

interface Server {
  readonly version: string;
  readonly major: number;
  readonly isStandby: boolean;
}

/**
 * Checks the server of `variable` before anything is migrated.
 * @throws ConfigurationError if it is too old or a standby, or if a newer version of the gateway has migrated its schema.
 */
export async function checkServer(em: EntityManager, variable: string): Promise<void> {
  const [server] = await em.execute<[Server]>(SERVER);
  const fault = serverFault(server) ?? schemaFault((await compareSchema(em)).unknown);
  if (fault !== undefined) throw new ConfigurationError(`${variable}: ${fault}`);
}

function serverFault({ version, major, isStandby }: Server): string | undefined {
  if (major < OLDEST_VERSION)
    return `PostgreSQL ${version} is too old; the gateway needs PostgreSQL ${OLDEST_VERSION} or later`;
  if (isStandby)
    return 'the server is a standby, which cannot be written to; name the primary here, and standbys in DATABASE_REPLICA_URLS';
  return undefined;
}

function schemaFault(unknown: readonly string[]): string | undefined {
  if (unknown.length === 0) return undefined;
  return `the database has the schema of a newer version of the gateway (${unknown.at(-1)} is unknown to this one); start that version, or restore a backup from before the upgrade`;
}
