import { Migration } from '@mikro-orm/migrations';

export class Migration20261128010022 extends Migration {
  override name = 'Migration20261128010022';

  override up(): void | Promise<void> {
    this.addSql(`alter table "audit_entry" add "target_label" text null;`);
    // Entries of earlier versions get the present names, as far as there are any.
    this.addSql(
      `update "audit_entry" a set "target_label" = coalesce(u.name || ' (' || u.email || ')', u.email) from "user_account" u where a.target_type = 'User' and u.id = a.target_id;`,
    );
    this.addSql(
      `update "audit_entry" a set "target_label" = k.name || ' (' || k.preview || ')' from "api_key" k where a.target_type = 'ApiKey' and k.id = a.target_id;`,
    );
    this.addSql(
      `update "audit_entry" a set "target_label" = i.email from "invitation" i where a.target_type = 'OrganizationInvitation' and i.id = a.target_id;`,
    );
    this.addSql(
      `update "audit_entry" a set "target_label" = d.name from "event_definition" d where a.target_type = 'EventDefinition' and d.id = a.target_id and d.organization_id = a.organization_id;`,
    );
    this.addSql(
      `create index "audit_entry_invited_index" on "audit_entry" ("target_label") where target_type = 'OrganizationInvitation';`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "audit_entry_invited_index";`);
    this.addSql(`alter table "audit_entry" drop column "target_label";`);
  }
}
