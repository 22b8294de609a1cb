import { Migration } from '@mikro-orm/migrations';

export class Migration20261126064430 extends Migration {
  override name = 'Migration20261126064430';

  override up(): void | Promise<void> {
    this.addSql(`drop index "idempotency_key_keyless_index";`);

    this.addSql(`alter table "invitation" add "first_key_id" uuid null;`);
    this.addSql(
      `alter table "invitation" add constraint "invitation_first_key_id_foreign" foreign key ("first_key_id") references "api_key" ("id") on delete cascade;`,
    );
    this.addSql(`create index "invitation_first_key_index" on "invitation" ("first_key_id");`);
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "invitation" drop constraint "invitation_first_key_id_foreign";`);

    this.addSql(
      `create index "idempotency_key_keyless_index" on "idempotency_key" ("digest") where operation = 'acceptOrganizationInvitation';`,
    );

    this.addSql(`drop index "invitation_first_key_index";`);
    this.addSql(`alter table "invitation" drop column "first_key_id";`);
  }
}
