import { Migration } from '@mikro-orm/migrations';

export class Migration20261128052632 extends Migration {
  override name = 'Migration20261128052632';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "deletion_job" add "is_of_object" boolean not null default false, add "object" jsonb null;`,
    );

    this.addSql(
      `create index "event_occurrence_utk_index" on "event_occurrence" ("definition_id", "utk") where utk is not null;`,
    );

    this.addSql(
      `create index "object_identifier_object_index" on "object_identifier" ("organization_id", "object_type", "object_id");`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`delete from "deletion_job" where "is_of_object";`);
    this.addSql(`alter table "deletion_job" drop column "is_of_object", drop column "object";`);

    this.addSql(`drop index "event_occurrence_utk_index";`);

    this.addSql(`drop index "object_identifier_object_index";`);
  }
}
