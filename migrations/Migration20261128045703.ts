import { Migration } from '@mikro-orm/migrations';

const COPIED = `"user_id", "organization_id", "name", "preview", "scopes"`;
const COPIES = COPIED.replaceAll('"user_id"', 'k."user_id"').replaceAll(', "', ', k."');

const SIGN_IN = (from: string) =>
  `insert into "api_key" ("id", "kind", "signed_in_with_id", ${COPIED}, "expires_at", "revoked_at", "created_at") select s."id", 'SIGN_IN', k."id", ${COPIES}, least(s."expires_at", k."expires_at"), k."revoked_at", s."created_at" from ${from} s join "api_key" k on k."id" = s."key_id"`;

/**
 * Sign-ins of browsers become rows of `api_key`. Gateways of the version before find and change them in the view `browser_sign_in`, which the
 * migrations of a later version drop.
 */
export class Migration20261128045703 extends Migration {
  override name = 'Migration20261128045703';

  override up(): void | Promise<void> {
    this.addSql(`alter table "api_key" add "kind" text not null default 'KEY', add "signed_in_with_id" uuid null;`);
    this.addSql(
      `alter table "api_key" add constraint "api_key_signed_in_with_id_foreign" foreign key ("signed_in_with_id") references "api_key" ("id") on delete cascade;`,
    );
    this.addSql(`alter table "api_key" alter column "hash" drop not null;`);
    this.addSql(
      `create index "api_key_signed_in_with_index" on "api_key" ("signed_in_with_id") where signed_in_with_id is not null;`,
    );
    this.addSql(`create index "api_key_sign_in_expiry_index" on "api_key" ("expires_at") where kind = 'SIGN_IN';`);
    this.addSql(
      `alter table "api_key" add constraint "api_key_kind_check" check ("kind" in ('KEY', 'SIGN_IN', 'OAUTH_GRANT'));`,
    );
    this.addSql(`${SIGN_IN('"browser_sign_in"')};`);
    this.addSql(`drop table "browser_sign_in";`);
    this.addSql(
      `create view "browser_sign_in" as select "id", coalesce("signed_in_with_id", "id") as "key_id", "created_at", "expires_at" from "api_key" where "kind" = 'SIGN_IN' and "revoked_at" is null;`,
    );
    this.addSql(
      `create function begin_browser_sign_in() returns trigger language plpgsql as $$ begin ${SIGN_IN('(select new.*)')}; return new; end $$;`,
    );
    this.addSql(
      `create trigger "begin" instead of insert on "browser_sign_in" for each row execute function begin_browser_sign_in();`,
    );
    this.addSql(
      `create function end_browser_sign_in() returns trigger language plpgsql as $$ begin update "api_key" set "revoked_at" = statement_timestamp() where "id" = old."id"; return old; end $$;`,
    );
    this.addSql(
      `create trigger "end" instead of delete on "browser_sign_in" for each row execute function end_browser_sign_in();`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop view if exists "browser_sign_in";`);
    this.addSql(`drop function if exists begin_browser_sign_in();`);
    this.addSql(`drop function if exists end_browser_sign_in();`);
    this.addSql(
      `create table "browser_sign_in" ("id" uuid not null, "key_id" uuid not null, "created_at" timestamptz not null, "expires_at" timestamptz not null, primary key ("id"));`,
    );
    this.addSql(
      `insert into "browser_sign_in" select "id", "signed_in_with_id", "created_at", "expires_at" from "api_key" where "kind" = 'SIGN_IN' and "revoked_at" is null and "signed_in_with_id" is not null;`,
    );
    this.addSql(`create index "browser_sign_in_key_index" on "browser_sign_in" ("key_id");`);
    this.addSql(`create index "browser_sign_in_expiry_index" on "browser_sign_in" ("expires_at");`);
    this.addSql(
      `alter table "browser_sign_in" add constraint "browser_sign_in_key_id_foreign" foreign key ("key_id") references "api_key" ("id") on delete cascade;`,
    );
    this.addSql(`delete from "api_key" where "kind" <> 'KEY';`);
    this.addSql(`alter table "api_key" drop constraint "api_key_signed_in_with_id_foreign";`);
    this.addSql(`drop index "api_key_signed_in_with_index";`);
    this.addSql(`drop index "api_key_sign_in_expiry_index";`);
    this.addSql(`alter table "api_key" drop constraint "api_key_kind_check";`);
    this.addSql(`alter table "api_key" drop column "kind", drop column "signed_in_with_id";`);
    this.addSql(`alter table "api_key" alter column "hash" set not null;`);
  }
}
