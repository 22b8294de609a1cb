import { Migration } from '@mikro-orm/migrations';

export class Migration20261127002914 extends Migration {
  override name = 'Migration20261127002914';

  override up(): void | Promise<void> {
    this.addSql(
      `create index "audit_entry_not_recording_index" on "audit_entry" ("organization_id", "occurred_at", "id") where operation <> all('{appendSessionEvents,appendSessionLines,recordArtifact,recordPullRequest,sendEventOccurrence,sendEventOccurrences}'::text[]);`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "audit_entry_not_recording_index";`);
  }
}
