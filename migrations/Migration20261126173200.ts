import { Migration } from '@mikro-orm/migrations';

export class Migration20261126173200 extends Migration {
  override name = 'Migration20261126173200';

  override up(): void | Promise<void> {
    this.addSql(`alter table "session_text" drop constraint "session_text_pkey";`);
    this.addSql(`alter table "session_text" add primary key ("session_id", "item", "organization_id");`);

    this.addSql(
      `alter table "session_search" add constraint "session_search_session_unique" unique ("session_id", "organization_id");`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "session_search" drop constraint "session_search_session_unique";`);

    this.addSql(`alter table "session_text" drop constraint "session_text_pkey";`);
    this.addSql(`alter table "session_text" add primary key ("session_id", "item");`);
  }
}
