import { Migration } from '@mikro-orm/migrations';

export class Migration20261201025828 extends Migration {
  override name = 'Migration20261201025828';

  override up(): void | Promise<void> {
    this.addSql(`alter table "session" add "handled_by_id" uuid null, add "handled_at" timestamptz null;`);
    this.addSql(
      `alter table "session" add constraint "session_handled_by_id_foreign" foreign key ("handled_by_id") references "user_account" ("id") on delete set null;`,
    );
    this.addSql(
      `create index "session_handled_by_index" on "session" ("handled_by_id") where handled_by_id is not null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "session" drop constraint "session_handled_by_id_foreign";`);

    this.addSql(`drop index "session_handled_by_index";`);
    this.addSql(`alter table "session" drop column "handled_by_id", drop column "handled_at";`);
  }
}
