import { Migration } from '@mikro-orm/migrations';

export class Migration20261130143624 extends Migration {
  override name = 'Migration20261130143624';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "audit_stream" ("organization_id" uuid not null, "last_number" bigint not null, primary key ("organization_id"));`,
    );
    this.addSql(`alter table "audit_entry" add "number" bigint null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "audit_stream" cascade;`);
    this.addSql(`alter table "audit_entry" drop column "number";`);
  }
}
