import { Migration } from '@mikro-orm/migrations';

/** The MCP connections of a session become ids; names that lead nowhere are dropped, and of two with one name the shared one is kept. */
export class Migration20261122113800 extends Migration {
  override name = 'Migration20261122113800';

  override up(): void | Promise<void> {
    this.addSql(`
      update "session" as s set "mcp_servers" = array(
        select found.id::text from (
          select distinct on (given.place) c.id, given.place
          from unnest(s.mcp_servers) with ordinality as given (reference, place)
          join "mcp_connection" as c on c.organization_id = s.organization_id and (c.id::text = lower(given.reference)
            or (c.name = given.reference and (c.visibility = 'shared' or c.owner_id = s.creator_id)))
          order by given.place, c.id::text = lower(given.reference) desc, c.visibility = 'shared' desc
        ) as found
        group by found.id order by min(found.place))
      where s.mcp_servers <> '{}';`);
  }

  /** Version 0.1 takes ids as well as names. */
  override down(): void {}
}
