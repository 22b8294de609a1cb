import { filterType } from '../../core/graphql/derived-inputs.ts';
import { toGlobalId } from '../../core/graphql/global-ids.ts';
import { listType } from '../../core/graphql/lists.ts';
import { mutation } from '../../core/graphql/mutations.ts';
import { ApiKeyType } from '../api-keys/graphql.ts';
import { apiKeyRow } from '../api-keys/public.ts';
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
import { serviceAccountRow } from './queries.ts';

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
  payload: (t) => ({
    serviceAccount: t.field({
      type: ServiceAccountType,
      description: 'The new service account, which has no API keys yet.',
      resolve: (account) => serviceAccountRow(account),
    }),
  }),
});

mutation(updateServiceAccount, {
  ids,
  payload: (t) => ({
    serviceAccount: t.field({
      type: ServiceAccountType,
      description: 'The updated service account.',
      resolve: (account) => serviceAccountRow(account),
    }),
  }),
});

mutation(deleteServiceAccount, {
  ids,
  payload: (t) => ({
    deletedId: t.id({
      description: 'Global id of the deleted service account.',
      resolve: ({ id }) => toGlobalId('ServiceAccount', id),
    }),
  }),
});

mutation(createServiceAccountApiKey, {
  ids,
  payload: (t) => ({
    apiKey: t.field({
      type: ApiKeyType,
      description: 'The new key, without its secret.',
      resolve: ({ apiKey }) => apiKeyRow(apiKey),
    }),
    key: t.exposeString('key', { description: 'The secret key itself. It is shown only in this answer.' }),
  }),
});
