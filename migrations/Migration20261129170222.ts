import { Migration } from '@mikro-orm/migrations';

export class Migration20261129170222 extends Migration {
  override name = 'Migration20261129170222';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "finished_version" ("version" text not null, "finished_at" timestamptz not null, primary key ("version"));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "finished_version" cascade;`);
  }
}
