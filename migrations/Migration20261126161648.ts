import { Migration } from '@mikro-orm/migrations';

export class Migration20261126161648 extends Migration {
  override name = 'Migration20261126161648';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "session_text" ("session_id" uuid not null, "item" text not null, "organization_id" uuid not null, "event_id" bigint not null, "created_at" timestamptz not null, "document" tsvector not null, primary key ("session_id", "item"));`,
    );
    this.addSql(`create index "session_text_event_index" on "session_text" ("session_id", "event_id");`);
    this.addSql(`create index "session_text_document_index" on "session_text" using gin ("document");`);

    this.addSql(
      `create table "session_search" ("session_id" uuid not null, "organization_id" uuid not null, "indexed_id" bigint not null, "version" uuid null, primary key ("session_id"));`,
    );
    this.addSql(
      `create index "session_search_pending_index" on "session_search" ("session_id") where "version" is not null;`,
    );

    this.addSql(
      `alter table "session_search" add constraint "session_search_session_id_foreign" foreign key ("session_id") references "session" ("id") on update cascade on delete cascade;`,
    );
    this.addSql(
      `alter table "session_search" add constraint "session_search_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
    // Sessions that exist are indexed after the start.
    this.addSql(
      `insert into "session_search" ("session_id", "organization_id", "indexed_id", "version") select "id", "organization_id", 0, gen_random_uuid() from "session";`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "session_text" cascade;`);
    this.addSql(`drop table if exists "session_search" cascade;`);
  }
}
