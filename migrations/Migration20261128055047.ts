import { Migration } from '@mikro-orm/migrations';

const CREATE = `create or replace function has_authority(caller_key uuid, caller uuid, acting_organization uuid, acting_role text, at timestamptz)
  returns boolean volatile`;

const LOCK = `pg_advisory_xact_lock_shared(1, hashtext(caller::text)) where caller_key is not null`;

const holds = (otherwise: string) => `caller_key is null or exists (
  select from api_key k
  where k.id = caller_key and k.revoked_at is null and (k.expires_at is null or k.expires_at > at + (clock_timestamp() - statement_timestamp()))
    and (acting_organization is null or exists (
      select from membership m
      where m.organization_id = acting_organization and m.user_id = caller and (m.role = acting_role or m.role = 'admin'))${otherwise}))`;

const OF_SERVICE_ACCOUNT = ` or (k.is_of_service_account and exists (
      select from user_account a
      where a.id = caller and a.service_organization_id = acting_organization and a.service_deleted_at is null
        and (a.service_role = acting_role or a.service_role = 'admin')))`;

/** From PostgreSQL 18 on, functions in SQL keep their plans, and are then faster than those in PL/pgSQL. Before, every call plans again. */
const SQL_KEEPS_PLANS = 180_000;

export class Migration20261128055047 extends Migration {
  override name = 'Migration20261128055047';

  override async up(): Promise<void> {
    this.addSql(
      `alter table "user_account" add "service_organization_id" uuid null, add "service_role" text null, add "service_deleted_at" timestamptz null;`,
    );
    this.addSql(
      `create index "user_account_service_index" on "user_account" ("service_organization_id", "created_at", "id") where service_organization_id is not null;`,
    );
    this.addSql(
      `alter table "user_account" add constraint "user_account_service_role_check" check ("service_role" in ('admin', 'member'));`,
    );

    this.addSql(`alter table "api_key" add "is_of_service_account" boolean not null default false;`);
    await this.replaceAuthority(holds(OF_SERVICE_ACCOUNT));
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
    // Otherwise they would be people.
    this.addSql(`delete from "user_account" where "service_organization_id" is not null;`);
    this.addSql(`alter table "api_key" drop column "is_of_service_account";`);

    this.addSql(`drop index "user_account_service_index";`);
    this.addSql(`alter table "user_account" drop constraint "user_account_service_role_check";`);
    this.addSql(
      `alter table "user_account" drop column "service_organization_id", drop column "service_role", drop column "service_deleted_at";`,
    );
  }
}
