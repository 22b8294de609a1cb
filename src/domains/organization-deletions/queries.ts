import type { SelectQueryBuilder } from 'kysely';
import type { OrganizationId } from '../../core/ids.ts';
import { counted } from '../../core/postgres/reading/counts.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type Readable, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { ApiKeyTables } from '../api-keys/public.ts';
import type { EventDefinitionTables } from '../event-definitions/public.ts';
import type { McpConnectionTables } from '../mcp-connections/public.ts';
import type { OrganizationTables } from '../organizations/public.ts';
import type { SessionEventTables } from '../session-events/public.ts';
import type { SessionTables } from '../sessions/public.ts';

type Tables = OrganizationTables &
  SessionTables &
  SessionEventTables &
  McpConnectionTables &
  EventDefinitionTables &
  ApiKeyTables;

const db = queriesOn<Tables>();

/** Numbers of the records that would be deleted together with an organization. */
export interface DeletionPreview {
  readonly memberCount: number;
  readonly sessionCount: number;
  /** An integer as text, because it can exceed the Int of GraphQL. */
  readonly sessionEventCount: string;
  readonly mcpServerCount: number;
  readonly eventDefinitionCount: number;
  readonly apiKeyCount: number;
}

/** Counts the records of an organization with one statement. */
export async function findDeletionPreview(
  { sql: reader }: Pick<OperationContext, 'sql'>,
  organizationId: OrganizationId,
): Promise<DeletionPreview | undefined> {
  const members = db.selectFrom('membership').where('organization_id', '=', organizationId);
  const sessions = db.selectFrom('session').where('organization_id', '=', organizationId);
  const mcpServers = db.selectFrom('mcp_connection').where('organization_id', '=', organizationId);
  const eventDefinitions = db
    .selectFrom('event_definition')
    .where('organization_id', '=', organizationId)
    .where('deleted_at', 'is', null);
  const apiKeys = db
    .selectFrom('api_key')
    .where('organization_id', '=', organizationId)
    .where('kind', '=', 'KEY')
    .where('revoked_at', 'is', null);
  return reader.first(
    db
      .selectFrom('organization')
      .select([
        numberOf(members).as('memberCount'),
        numberOf(sessions).as('sessionCount'),
        numberOfEvents(organizationId).as('sessionEventCount'),
        numberOf(mcpServers).as('mcpServerCount'),
        numberOf(eventDefinitions).as('eventDefinitionCount'),
        numberOf(apiKeys).as('apiKeyCount'),
      ])
      .where('id', '=', organizationId),
  );
}

const numberOf = <Table extends keyof Tables>(rows: SelectQueryBuilder<Readable<Tables>, Table, object>) =>
  counted(rows).$asScalar().$notNull();

/** Counts events without reading them all: the ids of a session have no gaps from its oldest event to its last id. */
const numberOfEvents = (organizationId: OrganizationId) =>
  db
    .selectFrom('session_stream as t')
    .innerJoinLateral(
      (eb) =>
        eb
          .selectFrom('session_event as e')
          .select('e.id')
          .whereRef('e.session_id', '=', 't.session_id')
          .whereRef('e.organization_id', '=', 't.organization_id')
          .orderBy('e.id')
          .limit(1)
          .as('oldest'),
      (join) => join.onTrue(),
    )
    .select((eb) => {
      const numberOfSession = eb(eb('t.last_id', '-', eb.ref('oldest.id')), '+', eb.lit(1));
      return eb.cast<string>(eb.fn.coalesce(eb.fn.sum(numberOfSession), eb.lit(0)), 'text').as('count');
    })
    .where('t.organization_id', '=', organizationId)
    .$asScalar()
    .$notNull();
