import { Migration } from '@mikro-orm/migrations';

export class Migration20261128111930 extends Migration {
  override name = 'Migration20261128111930';

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "session_search" add "models" text[] null, add "tools" text[] null, add "failed_tools" text[] null;`,
    );

    this.addSql(`alter table "event_violation" add "occurrences" bigint not null default '0';`);
    this.addSql(
      `create index "event_violation_definition_index" on "event_violation" ("organization_id", "definition_id", "hour");`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "event_violation_definition_index";`);
    this.addSql(`alter table "event_violation" drop column "occurrences";`);

    this.addSql(`alter table "session_search" drop column "models", drop column "tools", drop column "failed_tools";`);
  }
}
