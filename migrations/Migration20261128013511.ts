import { Migration } from '@mikro-orm/migrations';

export class Migration20261128013511 extends Migration {
  override name = 'Migration20261128013511';

  override up(): void | Promise<void> {
    this.addSql(`alter table "session_stream" add "cache_write_tokens" bigint null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "session_stream" drop column "cache_write_tokens";`);
  }
}
