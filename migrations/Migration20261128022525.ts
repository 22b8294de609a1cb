import { Migration } from '@mikro-orm/migrations';

export class Migration20261128022525 extends Migration {
  override name = 'Migration20261128022525';

  override up(): void | Promise<void> {
    this.addSql(
      `create index "pull_request_repository_index" on "pull_request" (lower("code_repository" ->> 'id'), "organization_id");`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "pull_request_repository_index";`);
  }
}
