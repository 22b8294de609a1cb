import { Migration } from '@mikro-orm/migrations';

export class Migration20261120202704 extends Migration {

  override name = 'Migration20261120202704';

  override up(): void | Promise<void> {
    this.addSql(`create unlogged table "rate_limit" ("window_start" timestamptz not null, "key_id" uuid not null, "requests" int not null, "cost" int not null, primary key ("window_start", "key_id"));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "rate_limit" cascade;`);
  }

}
