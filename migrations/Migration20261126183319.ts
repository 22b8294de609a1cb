import { Migration } from '@mikro-orm/migrations';

export class Migration20261126183319 extends Migration {
  override name = 'Migration20261126183319';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "webhook" ("id" uuid not null, "organization_id" uuid not null, "url" text not null, "types" text[] null, "cursor" bigint not null, "requested_cursor" bigint null, "replay_until" bigint null, "attempts" int not null, "next_attempt_at" timestamptz null, "failing_since" timestamptz null, "last_delivered_at" timestamptz null, "disabled_at" timestamptz null, "disabled_reason" text null, "previous_secret_expires_at" timestamptz null, "lease_id" uuid null, "lease_until" timestamptz null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`create index "webhook_organization_index" on "webhook" ("organization_id", "created_at", "id");`);

    this.addSql(
      `create table "webhook_delivery" ("id" uuid not null, "organization_id" uuid not null, "webhook_id" uuid not null, "kind" text not null, "state" text not null, "type" text not null, "feed_entry_id" bigint null, "attempt" int not null, "status" int null, "error" text null, "answer" text null, "duration_ms" int null, "created_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "webhook_delivery_webhook_index" on "webhook_delivery" ("webhook_id", "created_at", "id");`,
    );
    this.addSql(`create index "webhook_delivery_organization_index" on "webhook_delivery" ("organization_id");`);
    this.addSql(
      `create index "webhook_delivery_queued_index" on "webhook_delivery" ("webhook_id") where state = 'queued';`,
    );
    this.addSql(`create index "webhook_delivery_created_index" on "webhook_delivery" ("created_at");`);

    this.addSql(
      `alter table "webhook" add constraint "webhook_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "webhook" add constraint "webhook_disabled_reason_check" check ("disabled_reason" in ('requested', 'gone', 'failing'));`,
    );

    this.addSql(
      `alter table "webhook_delivery" add constraint "webhook_delivery_kind_check" check ("kind" in ('entry', 'replay', 'redelivery', 'ping'));`,
    );
    this.addSql(
      `alter table "webhook_delivery" add constraint "webhook_delivery_state_check" check ("state" in ('queued', 'succeeded', 'failed'));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "webhook" cascade;`);
    this.addSql(`drop table if exists "webhook_delivery" cascade;`);
  }
}
