import { sql } from 'kysely';
import type { OrganizationId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { queriesOn } from '../../core/postgres/queries.ts';
import type { ApiKeyTables } from '../api-keys/entity.ts';
import type { EventDefinitionTables } from '../event-definitions/entity.ts';
import type { McpConnectionTables } from '../mcp-connections/entity.ts';
import type { OrganizationTables } from '../organizations/entity.ts';
import type { SessionEventTables } from '../session-events/entity.ts';
import type { SessionTables } from '../sessions/entity.ts';

const db = queriesOn<
  OrganizationTables & SessionTables & SessionEventTables & McpConnectionTables & EventDefinitionTables & ApiKeyTables
>();

/** What an organization holds, and its deletion takes away. */
export interface DeletionPreview {
  readonly memberCount: number;
  readonly sessionCount: number;
  /** A whole number as text: there may be more than an Int of GraphQL holds. */
  readonly sessionEventCount: string;
  readonly mcpServerCount: number;
  readonly eventDefinitionCount: number;
  readonly apiKeyCount: number;
}

const count = sql<number>`count(*)::int`.as('count');

/** What the organization holds, in one statement. The events of a session have the ids from that of the oldest to that of the last. */
export async function findDeletionPreview(
  { sql: reader }: Pick<OperationContext, 'sql'>,
  organizationId: OrganizationId,
): Promise<DeletionPreview | undefined> {
  return reader.first(
    db
      .selectFrom('organization as o')
      .select((eb) => [
        eb
          .selectFrom('membership as m')
          .select(count)
          .whereRef('m.organization_id', '=', 'o.id')
          .$asScalar()
          .$notNull()
          .as('memberCount'),
        eb
          .selectFrom('session as s')
          .select(count)
          .whereRef('s.organization_id', '=', 'o.id')
          .$asScalar()
          .$notNull()
          .as('sessionCount'),
        eb
          .selectFrom('session_stream as t')
          .innerJoinLateral(
            (inner) =>
              inner
                .selectFrom('session_event as e')
                .select('e.id')
                .whereRef('e.session_id', '=', 't.session_id')
                .orderBy('e.id')
                .limit(1)
                .as('oldest'),
            (join) => join.onTrue(),
          )
          .select(sql<string>`coalesce(sum(t.last_id - oldest.id + 1), 0)::text`.as('sum'))
          .whereRef('t.organization_id', '=', 'o.id')
          .$asScalar()
          .$notNull()
          .as('sessionEventCount'),
        eb
          .selectFrom('mcp_connection as c')
          .select(count)
          .whereRef('c.organization_id', '=', 'o.id')
          .$asScalar()
          .$notNull()
          .as('mcpServerCount'),
        eb
          .selectFrom('event_definition as d')
          .select(count)
          .whereRef('d.organization_id', '=', 'o.id')
          .where('d.deleted_at', 'is', null)
          .$asScalar()
          .$notNull()
          .as('eventDefinitionCount'),
        eb
          .selectFrom('api_key as k')
          .select(count)
          .whereRef('k.organization_id', '=', 'o.id')
          .where('k.revoked_at', 'is', null)
          .$asScalar()
          .$notNull()
          .as('apiKeyCount'),
      ])
      .where('o.id', '=', organizationId),
  );
}
