import { Migration } from '@mikro-orm/migrations';

export class Migration20261201024622 extends Migration {
  override name = 'Migration20261201024622';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "deletion_job" add "kind" text null, add "redacted_sessions" int null, add "held_sessions" int null;`,
    );
    this.addSql(
      `alter table "deletion_job" add constraint "deletion_job_kind_check" check ("kind" in ('account', 'organization', 'object', 'member_data', 'redaction'));`,
    );

    this.addSql(`alter table "membership" add "origin" text null;`);
    this.addSql(
      `alter table "membership" add constraint "membership_origin_check" check ("origin" in ('created', 'invited', 'provider', 'group', 'scim', 'operator'));`,
    );

    this.addSql(`alter table "api_key" add "provider_session" text null, add "id_token" text null;`);
    this.addSql(
      `create index "api_key_provider_session_index" on "api_key" ("provider_session") where provider_session is not null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "api_key_provider_session_index";`);
    this.addSql(`alter table "api_key" drop column "provider_session", drop column "id_token";`);

    this.addSql(`alter table "deletion_job" drop constraint "deletion_job_kind_check";`);
    this.addSql(
      `alter table "deletion_job" drop column "kind", drop column "redacted_sessions", drop column "held_sessions";`,
    );

    this.addSql(`alter table "membership" drop constraint "membership_origin_check";`);
    this.addSql(`alter table "membership" drop column "origin";`);
  }
}
