import { Migration } from '@mikro-orm/migrations';

export class Migration20261126183128 extends Migration {
  override name = 'Migration20261126183128';

  override up(): void | Promise<void> {
    this.addSql(`alter table "session_search" add "event_types" text[] null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "session_search" drop column "event_types";`);
  }
}
