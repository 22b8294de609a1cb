import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { notFound } from '../../core/errors.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { requireUnchanged } from '../../core/input/expected-version.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { Organization, type OrganizationTables } from './entity.ts';
import { actingOrganization } from './policy.ts';

/**
 * Locks the organization until the transaction ends, so that records with a maximum number are created one at a time.
 * `forDeletion` also waits for transactions that insert rows referring to the organization, and blocks new ones.
 */
export async function lockOrganization(
  em: EntityManager,
  organizationId: OrganizationId,
  { forDeletion = false } = {},
): Promise<void> {
  const query = em
    .getKysely<Readable<OrganizationTables>>()
    .selectFrom('organization')
    .select('id')
    .where('id', '=', organizationId);
  // NO KEY UPDATE does not block inserts of rows that refer to the organization.
  await (forDeletion ? query.forUpdate() : query.forNoKeyUpdate()).execute();
}

/** Locks the acting organization for a change of what it says. @throws ConflictError when it was changed since the client has read it. */
export async function lockActing(
  { em, actor }: Pick<OperationContext, 'em' | 'actor'>,
  {
    organizationId,
    expectedUpdatedAt,
  }: { readonly organizationId: OrganizationId; readonly expectedUpdatedAt?: string | null | undefined },
): Promise<Organization> {
  const { id } = actingOrganization(actor, organizationId);
  const organization = await em.findOne(Organization, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (!organization) throw notFound('organization');
  requireUnchanged(organization, { expectedUpdatedAt }, { type: 'Organization', key: id });
  return organization;
}
