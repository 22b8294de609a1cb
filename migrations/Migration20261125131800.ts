import { Migration } from '@mikro-orm/migrations';

const CREATE = `create or replace function has_authority(caller_key uuid, caller uuid, acting_organization uuid, acting_role text, at timestamptz)
  returns boolean volatile`;

const LOCK = `pg_advisory_xact_lock_shared(1, hashtext(caller::text)) where caller_key is not null`;

const HOLDS = `caller_key is null or exists (
  select from api_key k
  where k.id = caller_key and k.revoked_at is null and (k.expires_at is null or k.expires_at > at + (clock_timestamp() - statement_timestamp()))
    and (acting_organization is null or exists (
      select from membership m
      where m.organization_id = acting_organization and m.user_id = caller and (m.role = acting_role or m.role = 'admin'))))`;

/** From PostgreSQL 18 on, functions in SQL keep their plans, and are then faster than those in PL/pgSQL. Before, every call plans again. */
const SQL_KEEPS_PLANS = 180_000;

export class Migration20261125131800 extends Migration {
  override name = 'Migration20261125131800';

  override async up(): Promise<void> {
    const [server] = await this.execute(`select current_setting('server_version_num')::int as version`);
    if (Number(server?.['version']) < SQL_KEEPS_PLANS) return;
    // Two queries, because the second one must have a snapshot from after the wait for the lock.
    this.addSql(`${CREATE} language sql as $$ select ${LOCK}; select ${HOLDS}; $$`);
  }

  override down(): void | Promise<void> {
    this.addSql(`${CREATE} language plpgsql as $$ begin perform ${LOCK}; return ${HOLDS}; end $$`);
  }
}
