import { Migration } from '@mikro-orm/migrations';

export class Migration20261122132220 extends Migration {
  override name = 'Migration20261122132220';

  override up(): void | Promise<void> {
    this.addSql(`alter table "object_identifier" add "id" uuid not null default gen_random_uuid();`);
    this.addSql(
      `create index "object_identifier_created_index" on "object_identifier" ("organization_id", "created_at", "id");`,
    );
    this.addSql(`alter table "object_identifier" add constraint "object_identifier_id_unique" unique ("id");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "object_identifier_created_index";`);
    this.addSql(`alter table "object_identifier" drop constraint "object_identifier_id_unique";`);
    this.addSql(`alter table "object_identifier" drop column "id";`);
  }
}
