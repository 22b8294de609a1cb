import { Migration } from '@mikro-orm/migrations';

export class Migration20261122150453 extends Migration {
  override name = 'Migration20261122150453';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "refused_attempt" ("key_id" uuid not null, "refusal" text not null, "recorded_at" timestamptz not null, primary key ("key_id", "refusal"));`,
    );

    this.addSql(`alter table "audit_entry" add "request_id_origin" text null, add "refusal" text null;`);
    this.addSql(
      `alter table "audit_entry" add constraint "audit_entry_request_id_origin_check" check ("request_id_origin" in ('client', 'gateway'));`,
    );
    this.addSql(
      `alter table "audit_entry" add constraint "audit_entry_refusal_check" check ("refusal" in ('forbidden', 'last_administrator', 'key_revoked', 'key_expired'));`,
    );

    this.addSql(
      `alter table "refused_attempt" add constraint "refused_attempt_key_id_foreign" foreign key ("key_id") references "api_key" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "refused_attempt" add constraint "refused_attempt_refusal_check" check ("refusal" in ('forbidden', 'last_administrator', 'key_revoked', 'key_expired'));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "refused_attempt" cascade;`);

    this.addSql(`alter table "audit_entry" drop constraint "audit_entry_request_id_origin_check";`);
    this.addSql(`alter table "audit_entry" drop constraint "audit_entry_refusal_check";`);
    this.addSql(`alter table "audit_entry" drop column "request_id_origin", drop column "refusal";`);
  }
}
