import { builder } from '../../../core/graphql/builder.ts';
import { orderType } from '../../../core/graphql/orders.ts';
import { organizationFilter } from '../input.ts';
import type { OrganizationOrderField } from '../queries.ts';
import { RoleEnum } from './types.ts';

/** The filter and the order of lists of organizations. */

export const OrganizationFilter = builder.inputType('OrganizationFilter', {
  description:
    'Conditions on organizations. An organization is listed when it meets all of them. A condition with an empty list matches nothing.',
  validate: organizationFilter,
  fields: (t) => ({
    roles: t.field({
      type: [RoleEnum],
      description: 'Organizations in which the caller has any of these roles, at most 100.',
    }),
    search: t.string({
      description:
        'Organizations whose name or slug contains this text of at most 100 characters. Case is ignored; there are no wildcards.',
    }),
    createdFrom: t.field({ type: 'DateTime', description: 'Organizations created at this time or later.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Organizations created before this time.' }),
  }),
});

export const ORGANIZATION_ORDER = orderType<OrganizationOrderField>('Organization', {
  of: 'organizations',
  fields: { CREATED_AT: 'Time of creation.', NAME: 'Name of the organization.' },
  otherwise: { field: 'CREATED_AT', direction: 'ASC' },
});
