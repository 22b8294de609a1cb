import { Migration } from '@mikro-orm/migrations';

export class Migration20261201204521 extends Migration {
  override name = 'Migration20261201204521';

  override up(): void | Promise<void> {
    this.addSql(`create index "session_entry_turn_index" on "session_entry" ("session_id", "turn", "id");`);
    this.addSql(`create index "session_entry_failed_index" on "session_entry" ("session_id", "id") where is_failed;`);
    this.addSql(
      `create index "session_entry_closed_index" on "session_entry" ("session_id", "closed_with") where closed_with is not null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "session_entry_turn_index";`);
    this.addSql(`drop index "session_entry_failed_index";`);
    this.addSql(`drop index "session_entry_closed_index";`);
  }
}
