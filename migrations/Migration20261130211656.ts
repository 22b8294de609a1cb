import { Migration } from '@mikro-orm/migrations';

export class Migration20261130211656 extends Migration {
  override name = 'Migration20261130211656';

  override up(): void | Promise<void> {
    this.addSql(`alter table "user_account" add "service_role_since" timestamptz null;`);

    this.addSql(
      `alter table "organization" add "definition_deletion" text not null default 'members', add "key_max_days" int null, add "keys_bound_only" boolean not null default false;`,
    );
    this.addSql(
      `alter table "organization" add constraint "organization_definition_deletion_check" check ("definition_deletion" in ('members', 'creators'));`,
    );

    this.addSql(`alter table "session" add "hold_creator_label" text null;`);

    this.addSql(`alter table "membership" add "role_since" timestamptz null;`);

    this.addSql(`alter table "event_definition" add "creator_id" uuid null;`);
    this.addSql(
      `alter table "event_definition" add constraint "event_definition_creator_id_foreign" foreign key ("creator_id") references "user_account" ("id") on delete set null;`,
    );
    this.addSql(`create index "event_definition_creator_index" on "event_definition" ("creator_id");`);

    this.addSql(`alter table "invitation" add "inviter_since" timestamptz null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "event_definition" drop constraint "event_definition_creator_id_foreign";`);

    this.addSql(`drop index "event_definition_creator_index";`);
    this.addSql(`alter table "event_definition" drop column "creator_id";`);

    this.addSql(`alter table "invitation" drop column "inviter_since";`);

    this.addSql(`alter table "membership" drop column "role_since";`);

    this.addSql(`alter table "organization" drop constraint "organization_definition_deletion_check";`);
    this.addSql(
      `alter table "organization" drop column "definition_deletion", drop column "key_max_days", drop column "keys_bound_only";`,
    );

    this.addSql(`alter table "session" drop column "hold_creator_label";`);

    this.addSql(`alter table "user_account" drop column "service_role_since";`);
  }
}
