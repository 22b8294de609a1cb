import { Migration } from '@mikro-orm/migrations';

export class Migration20261130143905 extends Migration {
  override name = 'Migration20261130143905';

  override up(): void | Promise<void> {
    this.addSql(`alter table "transcript_line" add "text" text null, add "has_return" boolean not null default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "transcript_line" drop column "text", drop column "has_return";`);
  }
}
