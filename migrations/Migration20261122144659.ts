import { Migration } from '@mikro-orm/migrations';

export class Migration20261122144659 extends Migration {
  override name = 'Migration20261122144659';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "invitation" ("id" uuid not null, "organization_id" uuid not null, "email" text not null, "role" text not null, "hash" bytea not null, "inviter_id" uuid null, "created_at" timestamptz not null, "expires_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "invitation_organization_index" on "invitation" ("organization_id", "created_at", "id");`,
    );
    this.addSql(`create index "invitation_inviter_index" on "invitation" ("inviter_id");`);
    this.addSql(`create index "invitation_address_index" on "invitation" ("email");`);
    this.addSql(`create index "invitation_expiry_index" on "invitation" ("expires_at");`);
    this.addSql(`alter table "invitation" add constraint "invitation_hash_unique" unique ("hash");`);
    this.addSql(
      `alter table "invitation" add constraint "invitation_email_unique" unique ("organization_id", "email");`,
    );

    this.addSql(
      `alter table "invitation" add constraint "invitation_organization_id_foreign" foreign key ("organization_id") references "organization" ("id") on delete cascade;`,
    );
    this.addSql(
      `alter table "invitation" add constraint "invitation_inviter_id_foreign" foreign key ("inviter_id") references "user_account" ("id") on delete set null;`,
    );
    this.addSql(
      `alter table "invitation" add constraint "invitation_role_check" check ("role" in ('admin', 'member'));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "invitation" cascade;`);
  }
}
