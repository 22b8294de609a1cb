import { Migration } from '@mikro-orm/migrations';

export class Migration20261130024818 extends Migration {
  override name = 'Migration20261130024818';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "erased_actor" ("key_id" uuid not null, "label" text not null, "erased_at" timestamptz not null, primary key ("key_id"));`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "erased_actor" cascade;`);
  }
}
