import { Migration } from '@mikro-orm/migrations';

export class Migration20261120203051 extends Migration {

  override name = 'Migration20261120203051';

  override up(): void | Promise<void> {
    this.addSql(`create table "idempotency_key" ("user_id" uuid not null, "digest" text not null, "organization_id" uuid null, "fingerprint" text not null, "scopes" text[] not null, "claim" uuid not null, "answer" text null, "created_at" timestamptz not null, "expires_at" timestamptz not null, primary key ("user_id", "digest"));`);
    this.addSql(`create index "idempotency_key_expiry_index" on "idempotency_key" ("expires_at");`);

    this.addSql(`alter table "idempotency_key" add constraint "idempotency_key_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "idempotency_key" cascade;`);
  }

}
