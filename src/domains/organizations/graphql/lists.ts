import { builder } from '../../../core/graphql/builder.ts';
import { orderType } from '../../../core/graphql/orders.ts';
import { memberFilter, organizationFilter } from '../input.ts';
import type { OrganizationOrderField } from '../queries.ts';
import { RoleEnum } from './types.ts';

/** What lists of organizations and of members are asked for. */

export const OrganizationFilter = builder.inputType('OrganizationFilter', {
  description: 'Which organizations to list. All given conditions must be met; an empty list matches nothing.',
  validate: organizationFilter,
  fields: (t) => ({
    roles: t.field({ type: [RoleEnum], description: 'In which the caller has one of these roles.' }),
    search: t.string({
      description:
        'Its name or slug contains this text of at most 100 characters. Case is ignored; `%` and `_` are plain.',
    }),
    createdFrom: t.field({ type: 'DateTime', description: 'Created at this moment or after it.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Created before this moment.' }),
  }),
});

export const ORGANIZATION_ORDER = orderType<OrganizationOrderField>('Organization', {
  of: 'organizations',
  fields: { CREATED_AT: 'Time of creation.', NAME: 'What the organization is called.' },
  otherwise: { field: 'CREATED_AT', direction: 'ASC' },
});

export const MemberFilter = builder.inputType('OrganizationMemberFilter', {
  description: 'Which members to list. All given conditions must be met; an empty list matches nothing.',
  validate: memberFilter,
  fields: (t) => ({
    roles: t.field({ type: [RoleEnum], description: 'With one of these roles.' }),
    search: t.string({
      description:
        'Their name or e-mail address contains this text of at most 254 characters. Case is ignored; `%` and `_` are plain.',
    }),
    createdFrom: t.field({ type: 'DateTime', description: 'Members since this moment or after it.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Members since before this moment.' }),
  }),
});

export const MEMBER_ORDER = orderType<'JOINED_AT'>('OrganizationMember', {
  of: 'members',
  fields: { JOINED_AT: 'When they became a member.' },
  otherwise: { field: 'JOINED_AT', direction: 'ASC' },
});
