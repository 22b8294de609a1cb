import { Migration } from '@mikro-orm/migrations';

export class Migration20261126164457 extends Migration {
  override name = 'Migration20261126164457';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "event_violation" ("organization_id" uuid not null, "hour" timestamptz not null, "definition_id" uuid not null, "reason" text not null, "property" text not null, "key_id" uuid not null, "id" uuid not null default gen_random_uuid(), "count" bigint not null, primary key ("organization_id", "hour", "definition_id", "reason", "property", "key_id"));`,
    );
    this.addSql(`create index "event_violation_hour_index" on "event_violation" ("hour");`);
    this.addSql(
      `alter table "event_violation" add constraint "event_violation_id_unique" unique ("organization_id", "id");`,
    );

    this.addSql(
      `alter table "event_violation" add constraint "event_violation_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "event_violation" cascade;`);
  }
}
