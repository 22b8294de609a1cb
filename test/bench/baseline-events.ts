import { type Caller, type Baseline, globalId, toEnumNameOrNull } from './baseline-core.ts';

interface EventRow {
  readonly id: number;
  readonly createdAt: string;
  readonly eventType: string;
  readonly messageId: string | null;
  readonly provider: string;
  readonly eventData: Record<string, Record<string, unknown> | undefined>;
}

const EVENTS = `select e.id, e.created_at as "createdAt", e.event_type as "eventType", e.message_id as "messageId", e.provider, e.event_data as "eventData"
  from session_event e
  where e.session_id = $1 and e.id > $2 and exists (select from session s where s.id = $1 and s.organization_id = $3 and (s.visibility = 'public' or s.creator_id = $4 or $5))
  order by e.session_id, e.id limit $6`;

function readEvents(
  baseline: Baseline,
  caller: Caller,
  sessionId: unknown,
  after: unknown,
  limit: number,
): Promise<EventRow[]> {
  return baseline.query<EventRow>('events', EVENTS, [
    sessionId,
    after,
    caller.organizationId,
    caller.userId,
    caller.isAdmin,
    limit,
  ]);
}

export async function restEvents(
  baseline: Baseline,
  caller: Caller,
  sessionId: string,
  query: URLSearchParams,
): Promise<object> {
  const rows = await readEvents(
    baseline,
    caller,
    sessionId,
    query.get('cursor') ?? '0',
    Number(query.get('limit') ?? 50),
  );
  const items = rows.map(({ id, createdAt, eventType, messageId, provider, eventData }) => ({
    id,
    createdAt,
    eventType,
    messageId,
    sessionId,
    provider,
    eventData,
  }));
  return { items, nextCursor: String(rows.at(-1)?.id ?? query.get('cursor')) };
}

interface EventsVariables {
  readonly id: string;
  readonly after: string;
}

export async function graphqlEvents(
  baseline: Baseline,
  caller: Caller,
  { id: sessionId, after }: EventsVariables,
  dataOf: (row: EventRow) => object,
): Promise<object> {
  const rows = await readEvents(baseline, caller, sessionId, after, 101);
  const edges = rows.slice(0, 100).map((row) => {
    const { id, createdAt, eventType, messageId, provider } = row;
    return {
      cursor: String(id),
      node: {
        id: globalId('SessionEvent', `${sessionId}:${id}`),
        databaseId: id,
        eventType,
        messageId,
        provider,
        createdAt,
        ...dataOf(row),
      },
    };
  });
  const pageInfo = { hasNextPage: rows.length > 100, endCursor: edges.at(-1)?.cursor ?? null };
  return { sessionEvents: { edges, pageInfo } };
}

/** The documented fields of `eventData`, as in GraphQL. */
export function typedData({ eventData: data }: EventRow): object {
  const { scope, event, toolResult } = data;
  return {
    eventData: {
      type: data['type'],
      scope: scope
        ? {
            kind: toEnumNameOrNull(scope['kind']),
            parentToolUseId: scope['parentToolUseId'] ?? null,
            taskId: scope['taskId'] ?? null,
          }
        : null,
      source: data['source'] ?? null,
      providerEvent: data['providerEvent'] ?? null,
      delivery: toEnumNameOrNull(data['delivery']),
      event: event
        ? {
            event: event['event'],
            message: event['message'],
            provider: event['provider'] ?? null,
            messageId: event['messageId'] ?? null,
          }
        : null,
      index: data['index'] ?? null,
      itemId: data['itemId'] ?? null,
      sequenceNumber: data['sequenceNumber'] ?? null,
      accumulatedText: data['accumulatedText'] ?? null,
      deltaType: toEnumNameOrNull(data['deltaType']),
      responsePhase: toEnumNameOrNull(data['responsePhase']),
      toolName: data['toolName'] ?? null,
      toolResult: toolResult
        ? {
            status: toEnumNameOrNull(toolResult['status']),
            output: toolResult['output'] ?? null,
            exitCode: toolResult['exitCode'] ?? null,
            error: toolResult['error'] ?? null,
          }
        : null,
      snapshotId: data['snapshotId'] ?? null,
      snapshotCreatedAt: data['snapshotCreatedAt'] ?? null,
    },
  };
}
