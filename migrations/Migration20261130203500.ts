import { Migration } from '@mikro-orm/migrations';

export class Migration20261130203500 extends Migration {
  override name = 'Migration20261130203500';

  override up(): void | Promise<void> {
    this.addSql(`alter table "session_event" add "is_superseded" boolean null;`);
    this.addSql(`alter table "session_stream" add "command_memory" text null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "session_event" drop column "is_superseded";`);
    this.addSql(`alter table "session_stream" drop column "command_memory";`);
  }
}
