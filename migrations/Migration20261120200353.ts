import { Migration } from '@mikro-orm/migrations';

export class Migration20261120200353 extends Migration {

  override name = 'Migration20261120200353';

  override up(): void | Promise<void> {
    this.addSql(`create table "deletion_job" ("id" uuid not null, "user_id" uuid not null, "state" text not null, "questionnaire" jsonb null, "emptied_organizations" jsonb not null, "run_after" timestamptz not null, "created_at" timestamptz not null, "started_at" timestamptz null, "finished_at" timestamptz null, "error" text null, primary key ("id"));`);
    this.addSql(`create index "deletion_job_user_index" on "deletion_job" ("user_id");`);
    this.addSql(`create unique index "deletion_job_active_unique" on "deletion_job" ("user_id") where state in ('queued', 'running');`);

    this.addSql(`create table "deleted_session" ("session_id" uuid not null, "organization_id" uuid not null, "deletion_job_id" uuid not null, primary key ("session_id"));`);
    this.addSql(`create index "deleted_session_job_index" on "deleted_session" ("deletion_job_id");`);

    this.addSql(`alter table "deletion_job" add constraint "deletion_job_state_check" check ("state" in ('queued', 'running', 'done', 'failed', 'cancelled'));`);

    this.addSql(`alter table "deleted_session" add constraint "deleted_session_deletion_job_id_foreign" foreign key ("deletion_job_id") references "deletion_job" ("id") on delete cascade;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "deleted_session" drop constraint "deleted_session_deletion_job_id_foreign";`);

    this.addSql(`drop table if exists "deletion_job" cascade;`);
    this.addSql(`drop table if exists "deleted_session" cascade;`);
  }

}
