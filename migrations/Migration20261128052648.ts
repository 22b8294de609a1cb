import { Migration } from '@mikro-orm/migrations';

export class Migration20261128052648 extends Migration {
  override name = 'Migration20261128052648';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "ensured_session" ("organization_id" uuid not null, "owner_id" uuid not null, "agent" text not null, "source_id" text not null, "session_id" uuid not null, primary key ("organization_id", "owner_id", "agent", "source_id"));`,
    );

    this.addSql(
      `alter table "ensured_session" add constraint "ensured_session_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "ensured_session" cascade;`);
  }
}
