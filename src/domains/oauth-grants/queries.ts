import { sql } from 'kysely';
import type { Scope } from '../../core/access.ts';
import type { ApiKeyId, OrganizationId } from '../../core/ids.ts';
import { defineList } from '../../core/postgres/reading/lists.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import type { ApiKeyTables } from '../api-keys/public.ts';
import type { OAuthTables } from './entity.ts';
import type { ConnectedAppFilter } from './input.ts';
import { reachedApps } from './policy.ts';

const db = queriesOn<ApiKeyTables & OAuthTables>();

/** An active grant to a client. A row has the selected columns only; without a selection it has all of these. */
export interface ConnectedAppRow {
  readonly id: ApiKeyId;
  readonly clientName: string;
  readonly clientHost: string | null;
  readonly resource: string;
  readonly scopes: readonly Scope[];
  readonly organizationId: OrganizationId;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

const COLUMNS = [
  'id',
  'clientName',
  'clientHost',
  'resource',
  'scopes',
  'organizationId',
  'createdAt',
  'lastUsedAt',
] as const satisfies readonly (keyof ConnectedAppRow)[];

export type ConnectedAppOrderField = 'CREATED_AT' | 'NAME';

/** The active grants of the caller to clients. */
export const CONNECTED_APPS = defineList<ConnectedAppRow, ConnectedAppFilter, ConnectedAppOrderField>()(
  db.selectFrom(
    db
      .selectFrom('api_key as k')
      .innerJoin('oauth_grant as g', 'g.key_id', 'k.id')
      .selectAll('k')
      .select(['k.name as client_name', 'g.client_host', 'g.resource'])
      .as('k'),
  ),
  {
    name: 'CONNECTED_APP',
    alias: 'k',
    columns: COLUMNS,
    reach: ({ actor }) => reachedApps(actor),
    where: (value) => sql`k.revoked_at is null and k.expires_at > ${value('now')}::timestamptz`,
    values: ({ now }) => ({ now: now() }),
    filter: ({ containing, between }) => ({ search: containing('clientName'), ...between('created', 'createdAt') }),
    orders: { CREATED_AT: { createdAt: 'timestamptz' }, NAME: { clientName: 'text' } },
    otherwise: { field: 'CREATED_AT', direction: 'DESC' },
  },
);
