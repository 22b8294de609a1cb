import { Migration } from '@mikro-orm/migrations';

export class Migration20261128021731 extends Migration {
  override name = 'Migration20261128021731';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "running_export" ("organization_id" uuid not null, "token" uuid not null, "expires_at" timestamptz not null, primary key ("organization_id"));`,
    );

    this.addSql(
      `alter table "running_export" add constraint "running_export_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on update cascade on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "running_export" cascade;`);
  }
}
