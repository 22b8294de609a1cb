import { Migration } from '@mikro-orm/migrations';

export class Migration20261128014021 extends Migration {
  override name = 'Migration20261128014021';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "organization_retention" ("organization_id" uuid not null, "session_days" int null, "occurrence_days" int null, "audit_log_days" int null, primary key ("organization_id"));`,
    );

    this.addSql(
      `alter table "organization_retention" add constraint "organization_retention_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on update cascade on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "organization_retention" cascade;`);
  }
}
