import { Migration } from '@mikro-orm/migrations';

export class Migration20261203045828 extends Migration {
  override name = 'Migration20261203045828';

  override up(): void | Promise<void> {
    this.addSql(`alter table "session_entry" add "failed_events" int8multirange null;`);
    this.addSql(`
      update "session_entry" set failed_events = int8multirange(int8range(coalesce(output_id, id), coalesce(output_id, id), '[]'))
      where is_failed;`);

    this.addSql(
      `alter table "session_stream" add "counted_tool_calls" bigint null, add "counted_tool_errors" bigint null;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "session_entry" drop column "failed_events";`);

    this.addSql(`alter table "session_stream" drop column "counted_tool_calls", drop column "counted_tool_errors";`);
  }
}
