import { operatorEntry, recordAudit } from '../../core/audit.ts';
import { NotFoundError } from '../../core/errors.ts';
import type { ProductFamily, SubscriptionLevel } from '../../core/config.ts';
import type { WorkContext } from '../../core/operation.ts';
import { Organization } from './entity.ts';

/**
 * Sets the subscription level of an organization for one product family, for the operator of the gateway. Other families do not change.
 * @throws NotFoundError when no organization has the slug.
 */
export const setSubscription = async (
  { em, now, newId }: Pick<WorkContext, 'em' | 'now' | 'newId'>,
  { slug, family, level }: { slug: string; family: ProductFamily; level: SubscriptionLevel },
): Promise<Organization> =>
  em.transactional(async (transaction) => {
    const organization = await transaction.findOne(Organization, { slug });
    if (!organization) throw new NotFoundError(`organization ${slug} not found`);
    if (organization.subscriptions[family] === level) return organization;
    organization.subscriptions = { ...organization.subscriptions, [family]: level };
    organization.updatedAt = now();
    const { id } = organization;
    const target = { type: 'Organization' as const, id, organizationId: id, detail: `${family}: ${level}` };
    await recordAudit(transaction, operatorEntry({ now, newId }, 'setSubscription', target));
    return organization;
  });
