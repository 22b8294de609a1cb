import { Migration } from '@mikro-orm/migrations';

export class Migration20261129182805 extends Migration {
  override name = 'Migration20261129182805';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "webhook" add "last_tried_at" timestamptz null, add "has_failed" boolean not null default false, add "timeouts" int not null default 0;`,
    );
    this.addSql(`update "webhook" set "has_failed" = true where "failing_since" is not null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "webhook" drop column "last_tried_at", drop column "has_failed", drop column "timeouts";`);
  }
}
