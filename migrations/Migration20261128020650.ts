import { Migration } from '@mikro-orm/migrations';

export class Migration20261128020650 extends Migration {
  override name = 'Migration20261128020650';

  override up(): void | Promise<void> {
    this.addSql(`alter table "session_event" add "stored_at" timestamptz null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "session_event" drop column "stored_at";`);
  }
}
