import type { EntityManager } from '@mikro-orm/postgresql';
import { invalid } from '../../core/errors.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { DAY_MS } from '../../core/text/timestamps.ts';
import { Membership, Organization } from '../organizations/public.ts';

/**
 * Applies the key policies to a new key: that of the organization that it is bound to, and for an unbound one whether any organization of the
 * person has bound ones only. How old an unbound key becomes is checked where it acts.
 * @returns its expiry. @throws ValidationError (400)
 */
export async function withinPolicy(
  em: EntityManager,
  { userId, organizationId, at }: { readonly userId: UserId; readonly organizationId: OrganizationId | null; at: Date },
  { asked, expiresAt }: { readonly asked?: Date | undefined; readonly expiresAt?: Date | undefined },
): Promise<Date | undefined> {
  if (organizationId === null) {
    const strict = { user: userId, organization: { keysBoundOnly: true } };
    const found = await em.findOne(Membership, strict, { populate: ['organization'] });
    if (!found) return expiresAt;
    const { id, slug } = found.organization;
    throw invalid('allOrganizations', `must be false: the organization ${slug ?? id} allows bound keys only`);
  }
  const { keyMaxDays } = await em.findOneOrFail(Organization, { id: organizationId });
  if (keyMaxDays == null) return expiresAt;
  const latest = new Date(at.getTime() + keyMaxDays * DAY_MS);
  if (asked && asked > latest)
    throw invalid('expiresAt', `must be at most ${keyMaxDays} days ahead, as the organization has set`);
  return expiresAt && expiresAt < latest ? expiresAt : latest;
}
