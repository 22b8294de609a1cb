import { Migration } from '@mikro-orm/migrations';

export class Migration20261130023342 extends Migration {
  override name = 'Migration20261130023342';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "audit_origin" ("entry_occurred_at" timestamptz not null, "entry_id" uuid not null, "key_id" uuid null, "client_address" text null, "user_agent" text null, primary key ("entry_occurred_at", "entry_id"));`,
    );
    this.addSql(`create index "audit_origin_key_index" on "audit_origin" ("key_id");`);

    this.addSql(
      `alter table "audit_origin" add constraint "audit_origin_entry_occurred_at_entry_id_foreign" foreign key ("entry_occurred_at", "entry_id") references "audit_entry" ("occurred_at", "id") on update cascade on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "audit_origin" cascade;`);
  }
}
