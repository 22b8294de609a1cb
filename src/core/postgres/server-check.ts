import type { EntityManager } from '@mikro-orm/postgresql';
import { ConfigurationError } from '../config.ts';
import { compareSchema } from './migrations.ts';

/** The oldest supported major version of PostgreSQL. */
const OLDEST_VERSION = 15;

const SERVER = `select current_setting('server_version') as version, current_setting('server_version_num')::int / 10000 as major,
  pg_is_in_recovery() as "isStandby", current_setting('server_encoding') as encoding, current_user as role,
  (select reset_val from pg_settings where name = 'DateStyle') as "dateStyle",
  current_setting('standard_conforming_strings') as "conformingStrings",
  coalesce(has_schema_privilege(current_schema(), 'create'), false) as "canCreateTables",
  exists(select from pg_namespace where nspname = 'pgboss') or has_database_privilege(current_database(), 'create') as "canCreateQueues"`;

interface Server {
  readonly version: string;
  readonly major: number;
  readonly isStandby: boolean;
  readonly encoding: string;
  readonly role: string;
  /** Which connections have that set nothing. */
  readonly dateStyle: string;
  readonly conformingStrings: string;
  readonly canCreateTables: boolean;
  readonly canCreateQueues: boolean;
}

/**
 * Checks the server of `variable` before anything is migrated.
 * @throws ConfigurationError if it is too old, a standby, or not set up for the gateway, or if a newer version has migrated its schema.
 */
export async function checkServer(em: EntityManager, variable: string): Promise<void> {
  const [server] = await em.execute<[Server]>(SERVER);
  const fault = serverFault(server) ?? settingFault(server) ?? (await schemaFault(em, server));
  if (fault !== undefined) throw new ConfigurationError(`${variable}: ${fault}`);
}

function serverFault({ version, major, isStandby }: Server): string | undefined {
  if (major < OLDEST_VERSION)
    return `PostgreSQL ${version} is too old; the gateway needs PostgreSQL ${OLDEST_VERSION} or later`;
  if (isStandby)
    return 'the server is a standby, which cannot be written to; name the primary here, and standbys in DATABASE_REPLICA_URLS';
  return undefined;
}

function settingFault({ encoding, dateStyle, conformingStrings, role }: Server): string | undefined {
  if (encoding !== 'UTF8')
    return `the database has the encoding ${encoding}; create it anew with: create database … encoding 'UTF8' template template0`;
  if (!dateStyle.startsWith('ISO'))
    return `DateStyle is "${dateStyle}", and the gateway reads times in ISO; run: alter role ${role} set datestyle = 'ISO, MDY'`;
  // Behind a pooler the gateway cannot set it.
  if (conformingStrings !== 'on')
    return `standard_conforming_strings is off; run: alter role ${role} set standard_conforming_strings = on`;
  return undefined;
}

async function schemaFault(em: EntityManager, server: Server): Promise<string | undefined> {
  const { pending, unknown } = await compareSchema(em);
  if (unknown.length > 0)
    return `the database has the schema of a newer version of the gateway (${unknown.at(-1)} is unknown to this one); start that version, or restore a backup from before the upgrade`;
  if ((pending.length === 0 || server.canCreateTables) && server.canCreateQueues) return undefined;
  return `the role ${server.role} cannot create tables in the database; run "cli migrate" as the owner, or make it the owner: alter database … owner to ${server.role}`;
}
