import { Migration } from '@mikro-orm/migrations';

export class Migration20261128015612 extends Migration {
  override name = 'Migration20261128015612';

  override up(): void | Promise<void> {
    this.addSql(`alter table "event_occurrence" add "unmatched_reason" text null;`);
    this.addSql(
      `create index "event_occurrence_email_index" on "event_occurrence" ("definition_id", "email", "occurred_at", "id") where email is not null;`,
    );
    this.addSql(
      `create index "event_occurrence_unmatched_index" on "event_occurrence" ("definition_id", "occurred_at", "id", "unmatched_reason") where unmatched_reason is not null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "event_occurrence_email_index";`);
    this.addSql(`drop index "event_occurrence_unmatched_index";`);
    this.addSql(`alter table "event_occurrence" drop column "unmatched_reason";`);
  }
}
