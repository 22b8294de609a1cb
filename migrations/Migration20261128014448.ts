import { Migration } from '@mikro-orm/migrations';

export class Migration20261128014448 extends Migration {
  override name = 'Migration20261128014448';

  override up(): void | Promise<void> {
    this.addSql(`alter table "webhook" add "replays_only_failed" boolean not null default false;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "webhook" drop column "replays_only_failed";`);
  }
}
