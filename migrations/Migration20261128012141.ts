import { Migration } from '@mikro-orm/migrations';

export class Migration20261128012141 extends Migration {
  override name = 'Migration20261128012141';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "webhook" add "session_states" text[] null, add "generation" int not null default 0, add "failed_entry_id" bigint null, add "is_try_requested" boolean not null default false, add "disable_after" timestamptz null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(
      `alter table "webhook" drop column "session_states", drop column "generation", drop column "failed_entry_id", drop column "is_try_requested", drop column "disable_after";`,
    );
  }
}
