import { Migration } from '@mikro-orm/migrations';

export class Migration20261128012859 extends Migration {
  override name = 'Migration20261128012859';

  override up(): void | Promise<void> {
    this.addSql(`alter table "deleted_session" drop constraint "deleted_session_deletion_job_id_foreign";`);

    this.addSql(`alter table "session_event_batch" drop constraint "session_event_batch_session_id_foreign";`);

    this.addSql(`alter table "deleted_session" alter column "deletion_job_id" drop not null;`);

    this.addSql(
      `alter table "session" add "hold_reason" text null, add "held_by_id" uuid null, add "held_at" timestamptz null;`,
    );
    this.addSql(
      `alter table "session" add constraint "session_held_by_id_foreign" foreign key ("held_by_id") references "user_account" ("id") on delete set null;`,
    );
    this.addSql(`create index "session_held_by_index" on "session" ("held_by_id") where held_by_id is not null;`);
    this.addSql(`create index "session_held_index" on "session" ("organization_id") where held_at is not null;`);

    this.addSql(
      `create index "idempotency_key_session_index" on "idempotency_key" ("target_id") where target_type = 'Session';`,
    );
  }

  override down(): void | Promise<void> {
    // What the job `session-purge` would still delete.
    for (const table of ['session_event', 'session_text'])
      this.addSql(
        `delete from "${table}" as t using "deleted_session" as d where d.session_id = t.session_id and d.organization_id = t.organization_id and d.deletion_job_id is null;`,
      );
    this.addSql(`delete from "deleted_session" where "deletion_job_id" is null;`);
    this.addSql(
      `delete from "session_event_batch" as b where not exists (select from "session" as s where s.id = b.session_id and s.organization_id = b.organization_id);`,
    );
    this.addSql(`alter table "session" drop constraint "session_held_by_id_foreign";`);

    this.addSql(`alter table "deleted_session" alter column "deletion_job_id" set not null;`);
    this.addSql(
      `alter table "deleted_session" add constraint "deleted_session_deletion_job_id_foreign" foreign key ("deletion_job_id") references "deletion_job" ("id") on delete cascade;`,
    );

    this.addSql(`drop index "idempotency_key_session_index";`);

    this.addSql(`drop index "session_held_by_index";`);
    this.addSql(`drop index "session_held_index";`);
    this.addSql(`alter table "session" drop column "hold_reason", drop column "held_by_id", drop column "held_at";`);

    this.addSql(
      `alter table "session_event_batch" add constraint "session_event_batch_session_id_foreign" foreign key ("session_id") references "session" ("id") on delete cascade;`,
    );
  }
}
