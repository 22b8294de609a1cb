import { StepMigration } from '../src/core/postgres/step-migration.ts';

export class Migration20261129203403 extends StepMigration {
  override name = 'Migration20261129203403';
  override readonly locks = { session_text: 'SHARE UPDATE EXCLUSIVE' };

  override async up(): Promise<void> {
    await this.createIndex(
      'session_text_newest_index',
      'on "session_text" ("organization_id", "created_at", "session_id", "item")',
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "session_text_newest_index";`);
  }
}
