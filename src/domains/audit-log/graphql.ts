import {
  AUDITED_NODES,
  AUDIT_SOURCES,
  type AuditedToolCall,
  REFUSALS,
  REQUEST_ID_ORIGINS,
  TOOL_CALL_OUTCOMES,
} from '../../core/audit.ts';
import { builder, ownStatements } from '../../core/graphql/builder.ts';
import { filterType } from '../../core/graphql/derived-inputs.ts';
import { enumOf } from '../../core/graphql/enums.ts';
import { placeFromKey, toGlobalId } from '../../core/graphql/global-ids.ts';
import { nodeType, resolveNode } from '../../core/graphql/nodes.ts';
import { listBelow, listType } from '../../core/graphql/lists.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import { needs } from '../../core/graphql/selection.ts';
import { apiKeyField } from '../api-keys/graphql.ts';
import { READ_API_KEYS } from '../api-keys/public.ts';
import { McpServerType } from '../mcp-connections/graphql/types.ts';
import { READ_MCP_CONNECTIONS } from '../mcp-connections/public.ts';
import { sessionField } from '../sessions/graphql/types.ts';
import { organizationList } from '../organizations/graphql/organization-list.ts';
import { ActorType } from '../organizations/graphql/actors.ts';
import { SessionType } from '../sessions/graphql/types.ts';
import { READ_SESSIONS } from '../sessions/public.ts';
import { auditEntryFilter } from './input.ts';
import {
  AUDIT_TEXTS as TEXTS,
  TOOL_CALL_TEXT,
  TOOL_CALL_TEXTS as CALL_TEXTS,
  actorLabelOf,
  labelOf,
} from './documents.ts';
import { listAuditEntries, readAuditEntries } from './operations.ts';
import { type AuditEntryRow, SESSION_ACCESSES, TOOL_CALLS } from './queries.ts';

const SourceEnum = enumOf('AuditSource', 'Where a change came from.', AUDIT_SOURCES, {
  request: 'A request of the GraphQL or REST API.',
  command_line: 'The command line of the operator.',
  job: 'A background job that a request had queued.',
});

const RefusalEnum = enumOf('AuditRefusal', 'Why an attempt was refused.', REFUSALS, {
  forbidden: 'A scope, a role, the right to change the object, or a subscription was missing.',
  last_administrator: 'The organization would have been left without an administrator.',
  key_revoked: 'The API key is revoked.',
  key_expired: 'The API key has expired.',
});

const RequestIdOriginEnum = enumOf('RequestIdOrigin', 'Who chose the id of a request.', REQUEST_ID_ORIGINS, {
  client: 'The caller, with the header `X-Request-Id`.',
  gateway: 'The gateway, which generated a random UUID.',
});

const ToolCallOutcomeEnum = enumOf('ToolCallOutcome', 'How the call of a tool has ended.', TOOL_CALL_OUTCOMES, {
  OK: 'The tool has returned a result.',
  TOOL_ERROR: 'The tool has failed, as its result says.',
  JSON_RPC_ERROR: 'The server has refused the call, or failed, with a JSON-RPC error.',
  TRANSPORT_ERROR:
    'There was no answer: the server could not be reached or did not answer in time, the caller left, or the connection must be authorized.',
});

const AuditedToolCallType = builder.objectRef<AuditedToolCall>('AuditedToolCall').implement({
  description: 'What is recorded of the call of a tool of an MCP connection: neither arguments nor results.',
  fields: (t) => ({
    toolName: t.exposeString('toolName', { description: CALL_TEXTS.toolName }),
    sessionId: t.id({
      nullable: true,
      description: CALL_TEXTS.sessionId.replace('Id', 'Global id'),
      resolve: ({ sessionId }) => sessionId && toGlobalId('Session', sessionId),
    }),
    session: sessionField(
      t,
      'sessionId',
      'The session of the call. Null for a call without one, and when the caller cannot read it.',
    ),
    outcome: t.field({
      type: ToolCallOutcomeEnum,
      nullable: true,
      description: CALL_TEXTS.outcome,
      resolve: ({ outcome }) => outcome ?? null,
    }),
    durationMs: t.int({
      nullable: true,
      description: CALL_TEXTS.durationMs,
      resolve: ({ durationMs }) => durationMs ?? null,
    }),
    bytes: t.int({
      nullable: true,
      description: CALL_TEXTS.bytes,
      resolve: ({ bytes }) => bytes ?? null,
    }),
  }),
});

function actorOf({
  userId: id,
  email,
  name,
  userCreatedAt: createdAt,
  userUpdatedAt: updatedAt,
  userRole: role,
}: AuditEntryRow) {
  return id !== null && createdAt !== null && updatedAt !== null
    ? { id, email, name, createdAt, updatedAt, role }
    : null;
}

const DATABASE_ID = 'The id of the entry in the database; `node` finds no entries of version 1.0 by it.';

const AuditEntryType = nodeType<AuditEntryRow>('AuditEntry', {
  description:
    'An audit log entry: an operation that changed something, stored in the same transaction as the change. With `refusal` it is a refused attempt with a known API key; at most one is recorded a minute for each key and reason.',
  keyOf: ({ occurredAt, id }) => `${Date.parse(occurredAt)}:${id}`,
  keyColumns: ['occurredAt', 'id'],
  stored: { table: 'audit_entry', datedKey: (moment) => `${moment} || ':' || t.id` },
  load: (context, keys, selected) => readAuditEntries(context, keys.flatMap(entryKeyOf), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'DatabaseId', description: DATABASE_ID }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime', description: 'When the operation took place.' }),
    source: t.expose('source', { type: SourceEnum, description: 'Where the change came from.' }),
    operation: t.exposeString('operation', { description: TEXTS.operation }),
    targetType: t.exposeString('targetType', { description: TEXTS.targetType }),
    targetId: t.id({
      nullable: true,
      description: TEXTS.targetId,
      extensions: needs<AuditEntryRow>('targetType', 'targetId'),
      resolve: ({ targetType, targetId }) => targetId && toGlobalId(targetType, targetId),
    }),
    target: t.field({
      type: builder.nodeInterfaceRef(),
      nullable: true,
      description: TEXTS.target,
      // The entries of a page can name objects of all these types.
      extensions: { ...ownStatements(AUDITED_NODES.length), ...needs<AuditEntryRow>('targetType', 'targetId') },
      resolve: ({ targetType, targetId }, _, context, info) => resolveNode({ context, info }, targetType, targetId),
    }),
    targetLabel: t.string({
      nullable: true,
      description: TEXTS.targetLabel,
      extensions: needs<AuditEntryRow>('targetType', 'targetLabel'),
      resolve: (row, _, { actor }) => labelOf(row, actor),
    }),
    actor: t.field({
      type: ActorType,
      nullable: true,
      description: TEXTS.actor,
      extensions: needs<AuditEntryRow>('userId', 'email', 'name', 'userCreatedAt', 'userUpdatedAt', 'userRole'),
      resolve: actorOf,
    }),
    actorLabel: t.string({
      nullable: true,
      description: TEXTS.actorLabel,
      extensions: needs<AuditEntryRow>('erasedLabel', 'email', 'name'),
      resolve: actorLabelOf,
    }),
    apiKey: apiKeyField(t, 'keyId', TEXTS.apiKey, READ_API_KEYS),
    clientAddress: t.exposeString('clientAddress', { nullable: true, description: TEXTS.clientAddress }),
    userAgent: t.exposeString('userAgent', { nullable: true, description: TEXTS.userAgent }),
    requestId: t.exposeString('requestId', {
      description: '`X-Request-Id` of the request, as in the log of the gateway. For a job it is the id of the job.',
    }),
    requestIdOrigin: t.expose('requestIdOrigin', {
      type: RequestIdOriginEnum,
      nullable: true,
      description: TEXTS.requestIdOrigin,
    }),
    changedFields: t.exposeStringList('changedFields', { nullable: true, description: TEXTS.changedFields }),
    detail: t.exposeString('detail', { nullable: true, description: TEXTS.detail }),
    toolCall: t.expose('toolCall', { type: AuditedToolCallType, nullable: true, description: TOOL_CALL_TEXT }),
    refusal: t.expose('refusal', {
      type: RefusalEnum,
      nullable: true,
      description: 'Why the attempt was refused; nothing was changed. Null for an operation that changed something.',
    }),
  }),
});

function entryKeyOf(key: string) {
  const place = placeFromKey(key);
  return place ? [{ occurredAt: place.moment, id: place.id }] : [];
}

const AUDIT_ENTRY_LIST = listType(AuditEntryType, {
  of: 'audit log entries',
  filter: filterType('AuditEntryFilter', auditEntryFilter, { ids: { actorIds: 'Actor', targetIds: 'Node' } }),
  conditions: 'Conditions on the entries. When absent, all entries are listed.',
  fields: { OCCURRED_AT: 'When the operation took place.' },
  otherwise: { field: 'OCCURRED_AT', direction: 'DESC' },
});
organizationList('auditLog', AUDIT_ENTRY_LIST, listAuditEntries);

builder.objectField(SessionType, 'accesses', (t) =>
  listBelow(t, AUDIT_ENTRY_LIST, {
    description:
      'Which administrators have read the session while it was a private one of somebody else (`readPrivateSession`): events, entries, description, diffs or an export, at most once a day (UTC) for each. Empty for those who are neither its creator nor administrator.',
    extensions: refusable(READ_SESSIONS),
    rows: SESSION_ACCESSES,
  }),
);

builder.objectField(McpServerType, 'toolCalls', (t) =>
  listBelow(t, AUDIT_ENTRY_LIST, {
    description:
      'Calls of the tools of the connection, latest first by default, as long as the audit log is kept: for administrators all, for others their own.',
    extensions: refusable(READ_MCP_CONNECTIONS),
    rows: TOOL_CALLS,
  }),
);
