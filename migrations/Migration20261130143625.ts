import { StepMigration } from '../src/core/postgres/step-migration.ts';

export class Migration20261130143625 extends StepMigration {
  override name = 'Migration20261130143625';
  override readonly locks = { audit_entry: 'SHARE UPDATE EXCLUSIVE' };

  override async up(): Promise<void> {
    await this.createIndex(
      'audit_entry_number_index',
      'on "audit_entry" ("organization_id", "number") where number is not null',
    );
    await this.createIndex(
      'audit_entry_unnumbered_index',
      'on "audit_entry" ("organization_id", "occurred_at", "id") where number is null',
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "audit_entry_number_index";`);
    this.addSql(`drop index "audit_entry_unnumbered_index";`);
  }
}
