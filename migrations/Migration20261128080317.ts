import { Migration } from '@mikro-orm/migrations';

/**
 * With `fastupdate`, whoever fills the list of pending entries merges it into the index, which takes a second in a large one, while others wait
 * for the locks of its transaction. The first vacuum merges what is pending.
 */
export class Migration20261128080317 extends Migration {
  override up(): void | Promise<void> {
    this.addSql(`alter index "session_text_document_index" set (fastupdate = off);`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter index "session_text_document_index" reset (fastupdate);`);
  }
}
