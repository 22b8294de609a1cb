import { Migration } from '@mikro-orm/migrations';

export class Migration20261128081807 extends Migration {
  override name = 'Migration20261128081807';

  override up(): void | Promise<void> {
    this.addSql(`alter table "session" add "redacted_at" timestamptz null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "session" drop column "redacted_at";`);
  }
}
