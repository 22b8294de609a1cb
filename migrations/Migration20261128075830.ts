import { Migration } from '@mikro-orm/migrations';

export class Migration20261128075830 extends Migration {
  override name = 'Migration20261128075830';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "oauth_grant" ("key_id" uuid not null, "client_id" text not null, "client_host" text null, "resource" text not null, "redirect_host" text null, primary key ("key_id"));`,
    );

    this.addSql(
      `create table "oauth_artifact" ("hash" bytea not null, "kind" text not null, "key_id" uuid null, "reference" bytea null, "payload" jsonb not null, "consumed_at" timestamptz null, "answer" text null, "expires_at" timestamptz not null, primary key ("hash"));`,
    );
    this.addSql(`create index "oauth_artifact_key_index" on "oauth_artifact" ("key_id") where key_id is not null;`);
    this.addSql(
      `create index "oauth_artifact_reference_index" on "oauth_artifact" ("reference") where reference is not null;`,
    );
    this.addSql(`create index "oauth_artifact_expiry_index" on "oauth_artifact" ("expires_at");`);

    this.addSql(`create index "api_key_grant_expiry_index" on "api_key" ("expires_at") where kind = 'OAUTH_GRANT';`);

    this.addSql(
      `alter table "oauth_grant" add constraint "oauth_grant_key_id_foreign" foreign key ("key_id") references "api_key" ("id") on update cascade on delete cascade;`,
    );

    this.addSql(
      `alter table "oauth_artifact" add constraint "oauth_artifact_key_id_foreign" foreign key ("key_id") references "api_key" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "oauth_grant" cascade;`);
    this.addSql(`drop table if exists "oauth_artifact" cascade;`);

    this.addSql(`drop index "api_key_grant_expiry_index";`);
  }
}
