import { Migration } from '@mikro-orm/migrations';

export class Migration20261130023243 extends Migration {
  override name = 'Migration20261130023243';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "counted_message" ("organization_id" uuid not null, "owner_id" uuid not null, "agent" text not null, "message" uuid not null, "session_id" uuid not null, "expires_at" timestamptz null, primary key ("organization_id", "owner_id", "agent", "message"));`,
    );
    this.addSql(`create index "counted_message_owner_index" on "counted_message" ("owner_id");`);
    this.addSql(`create index "counted_message_session_index" on "counted_message" ("session_id");`);
    this.addSql(
      `create index "counted_message_expiry_index" on "counted_message" ("expires_at") where expires_at is not null;`,
    );

    this.addSql(
      `alter table "counted_message" add constraint "counted_message_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "counted_message" cascade;`);
  }
}
