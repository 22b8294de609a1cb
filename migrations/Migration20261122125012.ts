import { Migration } from '@mikro-orm/migrations';

export class Migration20261122125012 extends Migration {
  override name = 'Migration20261122125012';

  // Changes of one user share the lock, and so do not wait for each other. Each query of a volatile function has a snapshot of its own: what was
  // committed while the lock was waited for is seen; and a key may have expired meanwhile, by the clock of the caller's gateway.
  override up(): void | Promise<void> {
    this.addSql(`create function has_authority(caller_key uuid, caller uuid, acting_organization uuid, acting_role text, at timestamptz)
      returns boolean language plpgsql volatile as $$
      begin
        if caller_key is null then return true; end if;
        perform pg_advisory_xact_lock_shared(1, hashtext(caller::text));
        return exists (
          select from api_key k
          where k.id = caller_key and k.revoked_at is null and (k.expires_at is null or k.expires_at > at + (clock_timestamp() - statement_timestamp()))
            and (acting_organization is null or exists (
              select from membership m
              where m.organization_id = acting_organization and m.user_id = caller and (m.role = acting_role or m.role = 'admin'))));
      end $$;`);
    this.addSql(`create function wait_for_changes_of(caller uuid) returns void language sql volatile as $$
      select pg_advisory_xact_lock(1, hashtext(caller::text)) $$;`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop function if exists wait_for_changes_of(uuid);`);
    this.addSql(`drop function if exists has_authority(uuid, uuid, uuid, text, timestamptz);`);
  }
}
