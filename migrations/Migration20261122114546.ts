import { Migration } from '@mikro-orm/migrations';

/** The uuid of an occurrence becomes any text. Both tables are rewritten, and cannot be used meanwhile. */
export class Migration20261122114546 extends Migration {
  override name = 'Migration20261122114546';

  override up(): void | Promise<void> {
    this.addSql(`alter table "event_occurrence" alter column "uuid" type text using ("uuid"::text);`);
    this.addSql(`alter table "event_occurrence_uuid" alter column "uuid" type text using ("uuid"::text);`);
  }

  override down(): void | Promise<void> {
    // A text that is no UUID becomes one that only the same text has.
    const uuid = `case when "uuid" ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then "uuid"::uuid else md5("uuid")::uuid end`;
    this.addSql(`alter table "event_occurrence" alter column "uuid" type uuid using (${uuid});`);
    this.addSql(`alter table "event_occurrence_uuid" alter column "uuid" type uuid using (${uuid});`);
  }
}
