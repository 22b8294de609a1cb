import { givenNames } from '../../core/keys-of.ts';
import { ConflictError, NotFoundError } from '../../core/errors.ts';
import { isEmptyUpdate } from '../../core/input/expected-version.ts';
import { ANYBODY } from '../../core/access.ts';
import { type OperationContext, defineOperation, unchanged } from '../../core/operation.ts';
import { type AuditTarget, newValues } from '../../core/audit.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import type { Asked } from '../../core/postgres/reading/lists.ts';
import { type Columns, ifKnown } from '../../core/postgres/reading/columns.ts';
import { Organization } from './entity.ts';
import { type OrganizationFilter, type OrganizationReference, updateOrganizationInput } from './input.ts';
import { lockActing } from './lock.ts';
import { ADMINISTER_ORGANIZATION } from './policy.ts';
import { type OrganizationOrderField, type OrganizationRow, organizationsOf } from './queries.ts';

/** The audit log entry belongs to the organization that was created or changed. */
const targetOf = ({ id }: Organization): AuditTarget => ({ type: 'Organization', id, organizationId: id });

/** Finds the organization with this slug, or creates it, in the caller's transaction. */
export async function findOrCreateOrganization(
  {
    em,
    now,
    newId,
    settings,
  }: Pick<OperationContext, 'em' | 'now' | 'newId'> & {
    readonly settings: Pick<OperationContext['settings'], 'defaultSubscriptions'>;
  },
  slug: string,
  creatorId: UserId,
): Promise<{ organization: Organization; isNew: boolean }> {
  const [id, at] = [newId(), now()];
  await em.upsert(
    Organization,
    {
      id,
      name: slug,
      slug,
      subscriptions: settings.defaultSubscriptions,
      creator: creatorId,
      createdAt: at,
      updatedAt: at,
    },
    { onConflictFields: ['slug'], onConflictAction: 'ignore' },
  );
  const organization = await em.findOneOrFail(Organization, { slug });
  return { organization, isNew: organization.id === id };
}

export const updateOrganization = defineOperation({
  name: 'updateOrganization',
  description: 'Changes the name, the logo and the settings of the organization that the request acts in.',
  access: ADMINISTER_ORGANIZATION,
  input: updateOrganizationInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { organizationId, expectedUpdatedAt, ...changes }) => {
    const organization = await lockActing(context, { organizationId, expectedUpdatedAt });
    if (isEmptyUpdate(changes)) return unchanged(organization);
    organization.update(changes, context.now());
    return organization;
  },
  target: (organization, { organizationId: _id, expectedUpdatedAt: _expected, ...changes }) => ({
    ...targetOf(organization),
    changedFields: givenNames(changes),
    detail: newValues(changes, ['definitionDeletion']),
  }),
});

/** The organizations with these ids that the caller is a member of. A bound key sees only its own organization. */
export const readOrganizations = (
  context: OperationContext,
  ids: readonly OrganizationId[],
  selected?: Columns<OrganizationRow>,
): Promise<OrganizationRow[]> => organizationsOf(context.actor).find(context, ids, selected);

/** One organization of the caller, by id or slug; undefined when it does not exist or the caller is not a member. */
export async function readOrganization(
  context: OperationContext,
  { id, slug }: OrganizationReference,
  selected?: Columns<OrganizationRow>,
): Promise<OrganizationRow | undefined> {
  if (id !== undefined) return (await readOrganizations(context, [id], selected))[0];
  return slug === undefined ? undefined : (await organizationsOf(context.actor).all(context, { slug }, selected))[0];
}

/** The acting organization. It is read only when columns are selected that the lookup of the API key has not read already. */
export async function readActingOrganization(
  context: OperationContext,
  selected?: Columns<OrganizationRow>,
): Promise<OrganizationRow | undefined> {
  const { organization } = context.actor;
  if (!organization) return undefined;
  const { role: _, ...known } = organization;
  return (
    ifKnown<OrganizationRow>(known, selected) ?? (await readOrganizations(context, [organization.id], selected))[0]
  );
}

export const listOrganizations = defineOperation({
  name: 'listOrganizations',
  description:
    'Lists the organizations that the key can act in. An unbound key lists all organizations of its user, a bound key only its own.',
  access: ANYBODY,
  run: (context, asked: Asked<OrganizationFilter, OrganizationOrderField>, selected?: Columns<OrganizationRow>) =>
    organizationsOf(context.actor).read(context, asked, selected),
});
