import { filterType } from '../../../core/graphql/derived-inputs.ts';
import { listType } from '../../../core/graphql/lists.ts';
import { organizationFilter } from '../input.ts';
import { OrganizationType } from './types.ts';

export const ORGANIZATION_LIST = listType(OrganizationType, {
  of: 'organizations',
  filter: filterType('OrganizationFilter', organizationFilter),
  conditions: 'Conditions on the organizations. When absent, all organizations are listed.',
  fields: { CREATED_AT: 'Time of creation.', NAME: 'Name of the organization.' },
  otherwise: { field: 'CREATED_AT', direction: 'ASC' },
});
