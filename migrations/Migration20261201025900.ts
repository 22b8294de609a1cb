import { StepMigration } from '../src/core/postgres/step-migration.ts';

export class Migration20261201025900 extends StepMigration {
  override name = 'Migration20261201025900';
  override readonly locks = { session: 'SHARE UPDATE EXCLUSIVE' };

  override async up(): Promise<void> {
    await this.createIndex(
      'session_completed_title_index',
      `on "session" ("organization_id", md5("title")) where state = 'completed'`,
    );
    await this.createIndex(
      'session_completed_source_index',
      `on "session" ("organization_id", ("source" ->> 'id')) where state = 'completed'`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "session_completed_title_index";`);
    this.addSql(`drop index "session_completed_source_index";`);
  }
}
