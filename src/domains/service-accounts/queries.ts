import { sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import { defineList } from '../../core/postgres/reading/lists.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import type { ServiceAccountRow, UserTables } from '../users/public.ts';
import type { ServiceAccountFilter } from './input.ts';

const db = queriesOn<UserTables>();

export type ServiceAccountOrderField = 'CREATED_AT' | 'NAME';

/** The service accounts of the acting organization. */
export const SERVICE_ACCOUNTS = defineList<ServiceAccountRow, ServiceAccountFilter, ServiceAccountOrderField>()(
  db.selectFrom('user_account as a'),
  {
    name: 'SERVICE_ACCOUNT',
    alias: 'a',
    columns: ['id', 'email', 'name', 'role', 'createdAt', 'updatedAt'],
    expressions: { role: 'a.service_role' },
    // The role tells them from people.
    always: ['role'],
    reach: ({ actor }) => ({
      all: { serviceOrganizationId: requireOrganization(actor).id, serviceDeletedAt: null },
    }),
    filter: ({ containing, between }) => ({
      roles: (roles) => sql`a.service_role = any(${roles}::text[])`,
      search: containing('name'),
      ...between('created', 'createdAt'),
    }),
    orders: { CREATED_AT: { createdAt: 'timestamptz' }, NAME: { name: 'text' } },
    otherwise: { field: 'CREATED_AT', direction: 'ASC' },
  },
);
