import { filterType } from '../../core/graphql/derived-inputs.ts';
import { listType } from '../../core/graphql/lists.ts';
import { deleted, mutation, one } from '../../core/graphql/mutations.ts';
import { createdApiKey } from '../api-keys/graphql.ts';
import { ServiceAccountType } from '../organizations/graphql/actors.ts';
import { organizationList } from '../organizations/graphql/organization-list.ts';
import { serviceAccountFilter } from './input.ts';
import {
  createServiceAccount,
  createServiceAccountApiKey,
  deleteServiceAccount,
  listServiceAccounts,
  updateServiceAccount,
} from './operations.ts';

const SERVICE_ACCOUNT_LIST = listType(ServiceAccountType, {
  of: 'service accounts',
  filter: filterType('ServiceAccountFilter', serviceAccountFilter),
  conditions: 'Conditions on the service accounts. When absent, all service accounts are listed.',
  fields: { CREATED_AT: 'Time of creation.', NAME: 'Name of the service account.' },
  otherwise: { field: 'CREATED_AT', direction: 'ASC' },
});
organizationList('serviceAccounts', SERVICE_ACCOUNT_LIST, listServiceAccounts);

const ids = { serviceAccountId: 'ServiceAccount' };

mutation(createServiceAccount, {
  payload: one('serviceAccount', ServiceAccountType, 'The new service account, which has no API keys yet.'),
});

mutation(updateServiceAccount, {
  ids,
  payload: one('serviceAccount', ServiceAccountType, 'The updated service account.'),
});
mutation(deleteServiceAccount, { ids, payload: deleted('ServiceAccount', 'deleted service account') });
mutation(createServiceAccountApiKey, { ids, payload: createdApiKey });
