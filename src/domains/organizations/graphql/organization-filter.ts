import { filterType } from '../../../core/graphql/derived-inputs.ts';
import { orderType } from '../../../core/graphql/orders.ts';
import { organizationFilter } from '../input.ts';
import type { OrganizationOrderField } from '../queries.ts';
// Defines the enumeration of the filter.
import './types.ts';

/** The filter and the order of lists of organizations. */

export const OrganizationFilter = filterType('OrganizationFilter', organizationFilter);

export const ORGANIZATION_ORDER = orderType<OrganizationOrderField>('Organization', {
  of: 'organizations',
  fields: { CREATED_AT: 'Time of creation.', NAME: 'Name of the organization.' },
  otherwise: { field: 'CREATED_AT', direction: 'ASC' },
});
