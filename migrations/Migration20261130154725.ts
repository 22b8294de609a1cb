import { StepMigration } from '../src/core/postgres/step-migration.ts';

export class Migration20261130154725 extends StepMigration {
  override name = 'Migration20261130154725';
  override readonly locks = { session: 'SHARE UPDATE EXCLUSIVE' };

  override async up(): Promise<void> {
    await this.createIndex(
      'session_open_transcript_index',
      `on "session" ("updated_at", "id") where state = 'inProgress' and source -> 'transcript' is not null`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "session_open_transcript_index";`);
  }
}
