import { type EntityManager, type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import { type ApiKeyId, type OrganizationId, type SessionId, idAt } from './ids.ts';
import { type Readable, columnNames, queriesOn } from './postgres/reading/queries.ts';

/**
 * The audit log: who changed what, and when. Each operation that changes something writes one entry in its transaction;
 * refused attempts are recorded too (`domains/audit-log/refused-attempts.ts`). Entries contain no input and no secret.
 * They name their author only by the key, which is deleted with the account; `targetLabel` is erased with the account that it names.
 */

export const AUDIT_SOURCES = ['request', 'command_line', 'job'] as const;
export type AuditSource = (typeof AUDIT_SOURCES)[number];

/** Why an attempt was refused. */
export const REFUSALS = ['forbidden', 'last_administrator', 'key_revoked', 'key_expired'] as const;
export type Refusal = (typeof REFUSALS)[number];

/** Operations by which programs record data. A busy runner writes nearly all entries of a log with them. */
export const RECORDING_OPERATIONS = [
  'appendSessionEvents',
  'appendSessionLines',
  'recordArtifact',
  'recordPullRequest',
  'sendEventOccurrence',
  'sendEventOccurrences',
] as const;

/** As the condition of an index, which serves only statements with the same text. */
export const IS_NOT_RECORDING = `operation <> all('{${RECORDING_OPERATIONS.join()}}'::text[])`;

/** Who chose a request id. */
export const REQUEST_ID_ORIGINS = ['client', 'gateway'] as const;
export type RequestIdOrigin = (typeof REQUEST_ID_ORIGINS)[number];

export const TOOL_CALL_OUTCOMES = ['OK', 'TOOL_ERROR', 'JSON_RPC_ERROR', 'TRANSPORT_ERROR'] as const;
export type ToolCallOutcome = (typeof TOOL_CALL_OUTCOMES)[number];

/** What is recorded of the call of a tool. The last three are missing while the call is open, and stay missing if the process dies. */
export interface AuditedToolCall {
  readonly toolName: string;
  readonly sessionId: SessionId | null;
  readonly outcome?: ToolCallOutcome;
  readonly durationMs?: number;
  readonly bytes?: number;
}

const AuditEntrySchema = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entry',
  properties: {
    // The primary key begins with the time: new entries are added at its end, and expired ones deleted at its beginning.
    occurredAt: p.datetime().primary(),
    id: p.uuid().primary(),
    /**
     * Null for changes outside any organization, such as the rotation of secrets. Not a foreign key, which would slow down the logged
     * operations.
     */
    organizationId: p.uuid().$type<OrganizationId>().nullable(),
    source: p.enum(AUDIT_SOURCES),
    /** The API key of the caller, which identifies the user. */
    keyId: p.uuid().$type<ApiKeyId>().nullable(),
    operation: p.text(),
    targetType: p.text(),
    /** Null if the operation changed several objects, and for the account of a deleted user. */
    targetId: p.uuid().nullable(),
    /** For a job, the id of the job. */
    requestId: p.text(),
    /** Null for the command line, for jobs, and for entries of versions without this column. */
    requestIdOrigin: p.enum(REQUEST_ID_ORIGINS).nullable(),
    /** Null if something was changed. */
    refusal: p.enum(REFUSALS).nullable(),
    /** Names without values; null if the operation does not say. */
    changedFields: p.array().nullable(),
    /** The name of the object at that time; null for those that `AuditTarget` does not name. Deleted with the account that it names. */
    targetLabel: p.text().nullable(),
    /** For a refused attempt what the caller was told; for others what `AuditTarget` says. */
    detail: p.text().nullable(),
    /** For the call of a tool of an MCP connection: never its arguments or its result. */
    toolCall: p.json<AuditedToolCall>().nullable(),
    /** The place in the order of the commits. Null until a reader follows the log. */
    number: p.bigint('number').nullable(),
  },
  indexes: [
    { name: 'audit_entry_organization_index', properties: ['organizationId', 'occurredAt', 'id'] },
    // Without it, a page without recording reads all entries of a busy runner.
    {
      name: 'audit_entry_not_recording_index',
      properties: ['organizationId', 'occurredAt', 'id'],
      where: IS_NOT_RECORDING,
    },
    { name: 'audit_entry_target_index', properties: ['targetId', 'occurredAt'] },
    { name: 'audit_entry_number_index', properties: ['organizationId', 'number'], where: 'number is not null' },
    {
      name: 'audit_entry_unnumbered_index',
      properties: ['organizationId', 'occurredAt', 'id'],
      where: 'number is null',
    },
    // For the deletion of an account: invitations to its e-mail address.
    { name: 'audit_entry_invited_index', properties: ['targetLabel'], where: `target_type = 'OrganizationInvitation'` },
  ],
});

/** One entry of the audit log. Read as rows, never as entities. */
export class AuditEntry extends AuditEntrySchema.class {}
AuditEntrySchema.setClass(AuditEntry);

const AuditOriginSchema = defineEntity({
  name: 'AuditOrigin',
  tableName: 'audit_origin',
  properties: {
    entry: () => p.manyToOne(AuditEntry).primary().deleteRule('cascade'),
    /** The key of the entry, with whose account the row is deleted. */
    keyId: p.uuid().$type<ApiKeyId>().nullable(),
    clientAddress: p.text().nullable(),
    userAgent: p.text().nullable(),
  },
  indexes: [{ name: 'audit_origin_key_index', properties: ['keyId'] }],
});

/** From where a sign-in, the creation of a key or an export came. A table of its own, because few entries have it, and it is erased alone. */
export class AuditOrigin extends AuditOriginSchema.class {}
AuditOriginSchema.setClass(AuditOrigin);

export type AuditTables = InferKyselyDB<typeof AuditEntrySchema | typeof AuditOriginSchema>;
export const AUDIT_ENTRY_COLUMNS = columnNames<AuditTables, 'audit_entry'>(AuditEntrySchema, 'audit_entry');

/** Who has sent a request. */
export interface AuditClient {
  /** Undefined for calls within the process. */
  readonly clientAddress: string | undefined;
  readonly userAgent: string | undefined;
}

/** Operations whose entries say from where they came. */
const WITH_ORIGIN: ReadonlySet<string> = new Set([
  'signIn',
  'createApiKey',
  'createServiceAccountApiKey',
  'connectApp',
  'exportOrganization',
  'exportOrganizationMember',
  'exportAuditLog',
  'exportSession',
  'acceptOrganizationInvitation',
]);

export interface NewAuditEntry {
  readonly occurredAt: Date;
  readonly id: string;
  readonly organizationId: OrganizationId | null;
  readonly source: AuditSource;
  readonly keyId: ApiKeyId | null;
  readonly operation: string;
  readonly targetType: string;
  readonly targetId: string | null;
  readonly targetLabel: string | null;
  readonly requestId: string;
  readonly requestIdOrigin: RequestIdOrigin | null;
  readonly changedFields: readonly string[] | null;
  readonly detail: string | null;
  readonly client?: AuditClient | undefined;
  readonly refusal?: Refusal;
}

/** The kinds of objects that entries name and GraphQL has as nodes. */
export const AUDITED_NODES = [
  'ApiKey',
  'DeletionJob',
  'EventDefinition',
  'Group',
  'McpServer',
  'ObjectIdentifier',
  'Organization',
  'OrganizationInvitation',
  'PullRequest',
  'ServiceAccount',
  'Session',
  'ToolApproval',
  'User',
  'Webhook',
] as const;

/** The kinds of objects that entries name: the GraphQL type, or the REST noun if it is not in GraphQL. */
export type AuditTargetType =
  | (typeof AUDITED_NODES)[number]
  | 'Broadcast'
  | 'BroadcastChannel'
  | 'OperationManifest'
  | 'Secret';

/** The changed object: its kind and its REST id. */
export interface AuditTarget {
  readonly type: AuditTargetType;
  /** Null if several objects were changed. */
  readonly id: string | null;
  /** The organization of the object; null for none, and by default the acting organization of the caller. */
  readonly organizationId?: OrganizationId | null | undefined;
  /**
   * Its name, for people, API keys, invitations and event definitions: those can be gone for the readers of the log while they
   * still exist. Never a text that somebody can delete or redact, such as the title of a session.
   */
  readonly label?: string | null;
  /** The names of the fields that were changed, if the operation updates some of them. */
  readonly changedFields?: readonly string[];
  /** The new value of what decides something, such as a state, a role or the scopes of a key. Of free texts only the reason of a hold. */
  readonly detail?: string | undefined;
}

/** The `detail` of a change of fields with few values: the new value, and for several fields each with its name. */
export function newValues(changes: object, names: readonly string[]): string | undefined {
  const changed = Object.entries(changes).filter(([name, value]) => names.includes(name) && value !== undefined);
  if (changed.length === 1) return String(changed[0]?.[1]);
  return changed.map(([name, value]) => `${name}: ${value}`).join(', ') || undefined;
}

/** The recorded properties of a caller. */
interface AuditedActor {
  readonly isOperator?: boolean;
  readonly keyId: ApiKeyId | null;
  readonly organization: { readonly id: OrganizationId } | undefined;
}

interface Clock {
  readonly now: () => Date;
  readonly newId: () => string;
}

/** The audit log entry of an operation. */
export function auditEntry(
  context: Clock & {
    readonly actor: AuditedActor;
    readonly requestId: string;
    readonly requestIdOrigin: RequestIdOrigin;
    readonly client?: AuditClient | undefined;
  },
  operation: string,
  given: AuditTarget,
): NewAuditEntry {
  const { actor, requestId, requestIdOrigin } = context;
  const { organizationId = actor.organization?.id } = given;
  const target = { ...given, organizationId };
  if (actor.isOperator) return operatorEntry(context, operation, target);
  const entry = { ...entryOf(context, operation, target), source: 'request' as const, keyId: actor.keyId };
  return { ...entry, requestId, requestIdOrigin, client: WITH_ORIGIN.has(operation) ? context.client : undefined };
}

/** The audit log entry of a command. */
export function operatorEntry(clock: Clock, operation: string, target: AuditTarget): NewAuditEntry {
  return {
    ...entryOf(clock, operation, target),
    source: 'command_line',
    keyId: null,
    requestId: 'command-line',
    requestIdOrigin: null,
  };
}

/** The audit log entry of a job. */
export function jobEntry(clock: Clock, jobId: string, operation: string, target: AuditTarget): NewAuditEntry {
  return { ...entryOf(clock, operation, target), source: 'job', keyId: null, requestId: jobId, requestIdOrigin: null };
}

function entryOf(
  { now, newId }: Clock,
  operation: string,
  { type, id, organizationId, label, changedFields, detail }: AuditTarget,
) {
  const occurredAt = now();
  return {
    occurredAt,
    id: idAt(occurredAt, newId()),
    organizationId: organizationId ?? null,
    operation,
    targetType: type,
    targetId: id,
    targetLabel: label ?? null,
    changedFields: changedFields ?? null,
    detail: detail ?? null,
  };
}

const audit = queriesOn<AuditTables>();

const COLUMNS: readonly {
  name: keyof AuditTables['audit_entry'];
  type: string;
  property: Exclude<keyof NewAuditEntry, 'client' | 'refusal'>;
}[] = [
  { name: 'occurred_at', type: 'timestamptz', property: 'occurredAt' },
  { name: 'id', type: 'uuid', property: 'id' },
  { name: 'organization_id', type: 'uuid', property: 'organizationId' },
  { name: 'source', type: 'text', property: 'source' },
  { name: 'key_id', type: 'uuid', property: 'keyId' },
  { name: 'operation', type: 'text', property: 'operation' },
  { name: 'target_type', type: 'text', property: 'targetType' },
  { name: 'target_id', type: 'uuid', property: 'targetId' },
  { name: 'target_label', type: 'text', property: 'targetLabel' },
  { name: 'request_id', type: 'text', property: 'requestId' },
  { name: 'request_id_origin', type: 'text', property: 'requestIdOrigin' },
  { name: 'changed_fields', type: 'text[]', property: 'changedFields' },
  { name: 'detail', type: 'text', property: 'detail' },
];

/** The columns that every entry has. */
export const AUDIT_COLUMNS = COLUMNS.map(({ name }) => name);

/** Writes an entry, in the transaction of the change. */
export const recordAudit = (em: EntityManager, entry: NewAuditEntry): Promise<void> => recordAudits(em, [entry]);

/** Writes several entries with one statement. */
export async function recordAudits(em: EntityManager, entries: readonly NewAuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const tables = em.getKysely<Readable<AuditTables>>();
  await tables.insertInto('audit_entry').values(entries.map(auditRow)).execute();
  const origins = entries.flatMap(originRow);
  // The types take a relation with a key of two columns for one column.
  if (origins.length > 0)
    await tables
      .insertInto('audit_origin')
      .values(origins as never)
      .execute();
}

const MAX_USER_AGENT = 500;

function originRow({ client, occurredAt, id, keyId }: NewAuditEntry) {
  if (client?.clientAddress === undefined && client?.userAgent === undefined) return [];
  const { clientAddress = null, userAgent } = client;
  const origin = { client_address: clientAddress, user_agent: userAgent?.slice(0, MAX_USER_AGENT) ?? null };
  return [{ entry_occurred_at: occurredAt, entry_id: id, key_id: keyId, ...origin }];
}

export function auditRow(entry: NewAuditEntry) {
  const {
    occurredAt,
    organizationId,
    keyId,
    targetType,
    targetId,
    targetLabel,
    requestId,
    requestIdOrigin,
    changedFields,
    client: _,
    ...rest
  } = entry;
  return {
    ...rest,
    occurred_at: occurredAt,
    organization_id: organizationId,
    key_id: keyId,
    target_type: targetType,
    target_id: targetId,
    target_label: targetLabel,
    request_id: requestId,
    request_id_origin: requestIdOrigin,
    changed_fields: changedFields && [...changedFields],
  };
}

/** The values of an entry, named as `auditInsert` refers to them in a prepared statement. */
export type AuditValues = {
  readonly [Name in Exclude<keyof NewAuditEntry, 'client' | 'refusal'> as `audit.${Name}`]: NewAuditEntry[Name];
};

export function auditValues(entry: NewAuditEntry): AuditValues {
  return {
    'audit.occurredAt': entry.occurredAt,
    'audit.id': entry.id,
    'audit.organizationId': entry.organizationId,
    'audit.source': entry.source,
    'audit.keyId': entry.keyId,
    'audit.operation': entry.operation,
    'audit.targetType': entry.targetType,
    'audit.targetId': entry.targetId,
    'audit.targetLabel': entry.targetLabel,
    'audit.requestId': entry.requestId,
    'audit.requestIdOrigin': entry.requestIdOrigin,
    'audit.changedFields': entry.changedFields,
    'audit.detail': entry.detail,
  };
}

/**
 * Inserts an entry as a part of the prepared statement that makes the change, for each row of `source`, a name in its `with` clause. The
 * values of the statement must include `auditValues`.
 */
export function auditInsert(value: (name: keyof AuditValues) => RawBuilder<unknown>, source: string) {
  return audit
    .insertInto('audit_entry')
    .columns(AUDIT_COLUMNS)
    .expression(
      audit
        .selectFrom(sql<object>`${sql.table(source)}`.as('changed'))
        .select(
          COLUMNS.map(({ name, type, property }) => sql`${value(`audit.${property}`)}::${sql.raw(type)}`.as(name)),
        ),
    );
}
