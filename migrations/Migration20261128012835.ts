import { Migration } from '@mikro-orm/migrations';

export class Migration20261128012835 extends Migration {
  override name = 'Migration20261128012835';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "operation_manifest" ("id" uuid not null, "organization_id" uuid not null, "client" text not null, "version" text not null, "operation_count" int not null, "bytes" int not null, "published_at" timestamptz not null, "last_used_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`create index "operation_manifest_use_index" on "operation_manifest" ("last_used_at");`);
    this.addSql(
      `alter table "operation_manifest" add constraint "operation_manifest_version_unique" unique ("organization_id", "client", "version");`,
    );

    this.addSql(
      `create table "published_document" ("manifest_id" uuid not null, "operation_id" text not null, "organization_id" uuid not null, "hash" text not null, "document" text not null, primary key ("manifest_id", "operation_id"));`,
    );
    this.addSql(
      `create index "published_document_operation_index" on "published_document" ("organization_id", "operation_id");`,
    );
    this.addSql(`create index "published_document_hash_index" on "published_document" ("organization_id", "hash");`);

    this.addSql(
      `alter table "operation_manifest" add constraint "operation_manifest_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "published_document" add constraint "published_document_manifest_id_foreign" foreign key ("manifest_id") references "operation_manifest" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "published_document" add constraint "published_document_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "published_document" drop constraint "published_document_manifest_id_foreign";`);

    this.addSql(`drop table if exists "operation_manifest" cascade;`);
    this.addSql(`drop table if exists "published_document" cascade;`);
  }
}
