import { Migration } from '@mikro-orm/migrations';

/** Lets the texts of all sessions be indexed again, with the names of tools and without the escapes of JSON. */
export class Migration20261128012000 extends Migration {
  override name = 'Migration20261128012000';

  override up(): void | Promise<void> {
    this.addSql(
      `update "session_search" set "indexed_id" = 0, "version" = coalesce("version", gen_random_uuid()) where "indexed_id" > 0;`,
    );
  }

  override down(): void | Promise<void> {}
}
