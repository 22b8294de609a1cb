import { Migration } from '@mikro-orm/migrations';

export class Migration20261129203339 extends Migration {
  override name = 'Migration20261129203339';

  override up(): void | Promise<void> {
    this.addSql(`alter table "webhook" add "numbered_until" bigint null;`);
    this.addSql(`alter table "webhook" alter column "url" drop not null;`);

    this.addSql(`alter table "webhook_delivery" add "message_id" text null;`);
  }

  override down(): void | Promise<void> {
    // An encrypted address cannot be read here: somebody has to give it again.
    this.addSql(
      `update "webhook" set "url" = 'https://invalid.invalid/' || "id", "disabled_at" = coalesce("disabled_at", now()), "disabled_reason" = coalesce("disabled_reason", 'requested') where "url" is null;`,
    );
    this.addSql(`alter table "webhook" drop column "numbered_until";`);
    this.addSql(`alter table "webhook" alter column "url" set not null;`);

    this.addSql(`alter table "webhook_delivery" drop column "message_id";`);
  }
}
