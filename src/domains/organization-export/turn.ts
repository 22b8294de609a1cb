import { sql } from 'kysely';
import { ConflictError } from '../../core/errors.ts';
import type { OrganizationId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';

/** One export of an organization at a time, over all processes. */

const LEASE_MS = 60_000;

type Context = Pick<OperationContext, 'em' | 'now' | 'newId'>;

export interface Turn {
  /** Call at least once a minute. */
  readonly extend: () => Promise<void>;
  readonly end: () => Promise<void>;
}

/** @throws ConflictError (409) while another export of the organization runs. */
export async function takeTurn({ em, now, newId }: Context, organizationId: OrganizationId): Promise<Turn> {
  const token = newId();
  const run = (text: ReturnType<typeof sql>) => text.execute(em.fork().getKysely());
  const until = () => new Date(now().getTime() + LEASE_MS);
  const { rows } = await run(sql`
    insert into running_export as r (organization_id, token, expires_at) values (${organizationId}, ${token}, ${until()})
    on conflict (organization_id) do update set token = excluded.token, expires_at = excluded.expires_at
      where r.expires_at < ${now()} returning r.token`);
  if (rows.length === 0)
    throw new ConflictError('WRONG_STATE', 'an export of this organization is running; wait until it has ended');
  const own = sql`organization_id = ${organizationId} and token = ${token}`;
  return {
    extend: async () => void (await run(sql`update running_export set expires_at = ${until()} where ${own}`)),
    end: async () => void (await run(sql`delete from running_export where ${own}`)),
  };
}
