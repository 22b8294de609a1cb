import { Migration } from '@mikro-orm/migrations';

const CREATE = `create or replace function has_authority(caller_key uuid, caller uuid, acting_organization uuid, acting_role text, at timestamptz)
  returns boolean volatile`;

const LOCK = `pg_advisory_xact_lock_shared(1, hashtext(caller::text)) where caller_key is not null`;

const holds = (further: string) => `caller_key is null or exists (
  select from api_key k
  where k.id = caller_key and k.revoked_at is null and (k.expires_at is null or k.expires_at > at + (clock_timestamp() - statement_timestamp()))
    ${further}and (acting_organization is null or exists (
      select from membership m
      where m.organization_id = acting_organization and m.user_id = caller and (m.role = acting_role or m.role = 'admin'))
      or (k.is_of_service_account and exists (
      select from user_account a
      where a.id = caller and a.service_organization_id = acting_organization and a.service_deleted_at is null
        and (a.service_role = acting_role or a.service_role = 'admin')))))`;

const NOT_BLOCKED = `and (acting_organization is null or acting_organization::text <> all(k.blocked_in))
    `;

/** From PostgreSQL 18 on, functions in SQL keep their plans, and are then faster than those in PL/pgSQL. Before, every call plans again. */
const SQL_KEEPS_PLANS = 180_000;

export class Migration20261130021502 extends Migration {
  override name = 'Migration20261130021502';

  override async up(): Promise<void> {
    this.addSql(`alter table "api_key" add "blocked_in" text[] not null default '{}';`);
    this.addSql(
      `create index "api_key_unbound_index" on "api_key" ("user_id") where organization_id is null and kind = 'KEY';`,
    );
    await this.replaceAuthority(holds(NOT_BLOCKED));
  }

  private async replaceAuthority(condition: string): Promise<void> {
    const [server] = await this.execute(`select current_setting('server_version_num')::int as version`);
    this.addSql(
      Number(server?.['version']) < SQL_KEEPS_PLANS
        ? `${CREATE} language plpgsql as $$ begin perform ${LOCK}; return ${condition}; end $$`
        : `${CREATE} language sql as $$ select ${LOCK}; select ${condition}; $$`,
    );
  }

  override async down(): Promise<void> {
    await this.replaceAuthority(holds(''));
    this.addSql(`drop index "api_key_unbound_index";`);
    this.addSql(`alter table "api_key" drop column "blocked_in";`);
  }
}
