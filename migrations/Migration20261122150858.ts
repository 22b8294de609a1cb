import { Migration } from '@mikro-orm/migrations';

export class Migration20261122150858 extends Migration {
  override name = 'Migration20261122150858';

  override up(): void | Promise<void> {
    this.addSql(`drop index "deletion_job_active_unique";`);
    this.addSql(
      `alter table "deletion_job" add "organization_id" uuid null, add "member_ids" jsonb not null default '[]';`,
    );
    this.addSql(
      `create unique index "deletion_job_active_unique" on "deletion_job" ("user_id") where state in ('queued', 'running') and organization_id is null;`,
    );
  }

  override down(): void | Promise<void> {
    // The version before knows accounts alone, of which one may be deleted once.
    this.addSql(`delete from "deletion_job" where organization_id is not null;`);
    this.addSql(`drop index "deletion_job_active_unique";`);
    this.addSql(`alter table "deletion_job" drop column "organization_id", drop column "member_ids";`);
    this.addSql(
      `create unique index "deletion_job_active_unique" on "deletion_job" ("user_id") where state in ('queued', 'running');`,
    );
  }
}
