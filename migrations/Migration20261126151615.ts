import { Migration } from '@mikro-orm/migrations';

export class Migration20261126151615 extends Migration {
  override name = 'Migration20261126151615';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "session_stream" add "input_tokens" bigint null, add "output_tokens" bigint null, add "cached_input_tokens" bigint null, add "cost_usd" double precision null, add "turns" bigint null, add "tool_calls" bigint null, add "tool_errors" bigint null, add "duration_ms" bigint null, add "format_memory" text null;`,
    );

    this.addSql(`alter table "session_event_batch" add "content_hash" text null;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "session_event_batch" drop column "content_hash";`);

    this.addSql(
      `alter table "session_stream" drop column "input_tokens", drop column "output_tokens", drop column "cached_input_tokens", drop column "cost_usd", drop column "turns", drop column "tool_calls", drop column "tool_errors", drop column "duration_ms", drop column "format_memory";`,
    );
  }
}
