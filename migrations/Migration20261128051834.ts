import { Migration } from '@mikro-orm/migrations';

export class Migration20261128051834 extends Migration {
  override name = 'Migration20261128051834';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "sign_in_token" ("hash" bytea not null, "user_id" uuid null, "expires_at" timestamptz not null, primary key ("hash"));`,
    );
    this.addSql(`create index "sign_in_token_expiry_index" on "sign_in_token" ("expires_at");`);
    this.addSql(`create index "sign_in_token_user_index" on "sign_in_token" ("user_id") where user_id is not null;`);

    this.addSql(
      `create table "identity" ("id" uuid not null, "issuer" text not null, "subject" text not null, "user_id" uuid not null, "created_at" timestamptz not null, "last_signed_in_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(`alter table "identity" add constraint "identity_subject_unique" unique ("issuer", "subject");`);
    this.addSql(`alter table "identity" add constraint "identity_user_unique" unique ("user_id", "issuer");`);

    this.addSql(
      `alter table "sign_in_token" add constraint "sign_in_token_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "identity" add constraint "identity_user_id_foreign" foreign key ("user_id") references "user_account" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "sign_in_token" cascade;`);
    this.addSql(`drop table if exists "identity" cascade;`);
  }
}
