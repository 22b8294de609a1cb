import { z } from 'zod';
import type { AuditSource, Refusal, RequestIdOrigin } from '../../core/audit.ts';
import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
import { connectionType, resolveList } from '../../core/graphql/connections.ts';
import { keyFromAnyId, keyFromId, nodeType, placeFromKey, toGlobalId } from '../../core/graphql/nodes.ts';
import { orderType } from '../../core/graphql/orders.ts';
import { resolveReference } from '../../core/graphql/references.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import { needs, selectedColumns } from '../../core/graphql/selection.ts';
import { ApiKeyType } from '../api-keys/graphql.ts';
import { readApiKeys } from '../api-keys/operations.ts';
import { READ_API_KEYS } from '../api-keys/policy.ts';
import { OrganizationType } from '../organizations/graphql/types.ts';
import { UserType } from '../users/graphql.ts';
import { auditEntryFilter } from './input.ts';
import { listAuditEntries, readAuditEntries } from './operations.ts';
import type { AuditEntryRow } from './queries.ts';

const SourceEnum = builder.enumType('AuditSource', {
  description: 'By which way something was changed.',
  values: {
    REQUEST: { value: 'request', description: 'By a request, over GraphQL or REST.' },
    COMMAND_LINE: { value: 'command_line', description: "By the operator's command line." },
    JOB: { value: 'job', description: 'By a job, which a request had queued.' },
  } satisfies Record<string, { value: AuditSource; description: string }>,
});

const RefusalEnum = builder.enumType('AuditRefusal', {
  description: 'Why an attempt was refused.',
  values: {
    FORBIDDEN: {
      value: 'forbidden',
      description:
        'The key lacked a scope, its user a role or the right to change the object, or the organization a subscription.',
    },
    LAST_ADMINISTRATOR: {
      value: 'last_administrator',
      description: 'The organization would have been left without an administrator.',
    },
    KEY_REVOKED: { value: 'key_revoked', description: 'The API key is revoked.' },
    KEY_EXPIRED: { value: 'key_expired', description: 'The API key has expired.' },
  } satisfies Record<string, { value: Refusal; description: string }>,
});

const RequestIdOriginEnum = builder.enumType('RequestIdOrigin', {
  description: 'Who has chosen the id of a request.',
  values: {
    CLIENT: {
      value: 'client',
      description: 'The caller, in the header `X-Request-Id`: any text of the accepted form.',
    },
    GATEWAY: { value: 'gateway', description: 'The gateway, which made a random UUID.' },
  } satisfies Record<string, { value: RequestIdOrigin; description: string }>,
});

const AuditEntryType = nodeType<AuditEntryRow>('AuditEntry', {
  description:
    'One operation that has changed something, written together with the change, so that there is none without the other; or, with `refusal`, an attempt with a known API key that was refused, at most one a minute for a key and a reason.',
  keyOf: ({ occurredAt, id }) => `${Date.parse(occurredAt)}:${id}`,
  keyColumns: ['occurredAt', 'id'],
  load: (context, keys, selected) => readAuditEntries(context, keys.flatMap(entryKeyOf), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'Its id in the database.' }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime', description: 'When it was done.' }),
    source: t.expose('source', { type: SourceEnum, description: 'By which way.' }),
    operation: t.exposeString('operation', {
      description:
        'What was done: the name of the operation, such as `revokeApiKey`. For a refused attempt also the name of a field; or `graphql`, where the request was not read.',
    }),
    targetType: t.exposeString('targetType', {
      description:
        'What was changed: a GraphQL type; or `Broadcast`, `BroadcastChannel` or `ObjectIdentifier`, which have none. `ApiKey` for a refused attempt.',
    }),
    targetId: t.id({
      nullable: true,
      description:
        'Global id of what was changed; it may be gone by now. Null when several were changed at once, and for deleted accounts. For a refused attempt that of the API key.',
      extensions: needs<AuditEntryRow>('targetType', 'targetId'),
      resolve: ({ targetType, targetId }) => targetId && toGlobalId(targetType, targetId),
    }),
    actor: t.field({
      type: UserType,
      nullable: true,
      description: 'Who did it, former members included. Null for a deleted account, the command line and jobs.',
      extensions: needs<AuditEntryRow>('userId', 'email', 'name', 'userCreatedAt', 'userUpdatedAt'),
      resolve: ({ userId: id, email, name, userCreatedAt: createdAt, userUpdatedAt: updatedAt }) =>
        id !== null && createdAt !== null && updatedAt !== null ? { id, email, name, createdAt, updatedAt } : null,
    }),
    apiKey: t.field({
      type: ApiKeyType,
      nullable: true,
      description:
        'The API key that it was done with, revoked ones included. Null for the command line and jobs, and for an unbound key of somebody else.',
      extensions: { ...OWN_STATEMENT, ...refusable(READ_API_KEYS), ...needs<AuditEntryRow>('keyId') },
      resolve: ({ keyId }, _, context, info) => resolveReference({ context, info }, 'ApiKey', keyId, readApiKeys),
    }),
    requestId: t.exposeString('requestId', {
      description: '`X-Request-Id` of the request, as in the log of the gateway; of a job its id.',
    }),
    requestIdOrigin: t.expose('requestIdOrigin', {
      type: RequestIdOriginEnum,
      nullable: true,
      description:
        'Who has chosen `requestId`. Null for the command line, jobs, and entries from before it was recorded.',
    }),
    refusal: t.expose('refusal', {
      type: RefusalEnum,
      nullable: true,
      description:
        'Why the attempt was refused, so that nothing was changed. Null for an operation that has changed something.',
    }),
  }),
});

function entryKeyOf(key: string) {
  const place = placeFromKey(key);
  return place ? [{ occurredAt: place.moment, id: place.id }] : [];
}

const FilterInput = builder.inputType('AuditEntryFilter', {
  description:
    'Which entries to list. All given conditions must be met. Lists have at most 100 items; an empty one matches nothing.',
  validate: z.preprocess(withPlainIds, auditEntryFilter),
  fields: (t) => ({
    actorIds: t.idList({ description: 'Done by any of these users; either id.' }),
    operations: t.stringList({ description: 'Of any of these operations, such as `revokeApiKey`.' }),
    isRefused: t.boolean({ description: 'Whether they are refused attempts; both when absent.' }),
    targetIds: t.idList({ description: 'Which have changed any of these; either id.' }),
    sources: t.field({ type: [SourceEnum], description: 'By any of these ways.' }),
    occurredFrom: t.field({ type: 'DateTime', description: 'At this moment or after it.' }),
    occurredBefore: t.field({ type: 'DateTime', description: 'Before this moment.' }),
  }),
});

function withPlainIds(filter: unknown): unknown {
  if (typeof filter !== 'object' || filter === null) return filter;
  const { actorIds, targetIds, ...rest } = filter as { actorIds?: unknown[] | null; targetIds?: unknown[] | null };
  return {
    ...rest,
    actorIds: actorIds?.map((id) => keyFromId('User', id)),
    targetIds: targetIds?.map((id) => keyFromAnyId(id)),
  };
}

const AUDIT_ENTRY_ORDER = orderType<'OCCURRED_AT'>('AuditEntry', {
  of: 'audit log entries',
  fields: { OCCURRED_AT: 'When it was done.' },
  otherwise: { field: 'OCCURRED_AT', direction: 'DESC' },
});

const AuditEntryConnection = connectionType(AuditEntryType, { of: 'audit log entries' });

builder.objectField(OrganizationType, 'auditLog', (t) =>
  t.connection(
    {
      type: AuditEntryType,
      description:
        'Who has changed what in it, latest first unless ordered otherwise. Kept for a year unless configured otherwise.',
      args: {
        filter: t.arg({ type: FilterInput, description: 'Which ones; all when absent.' }),
        orderBy: t.arg(AUDIT_ENTRY_ORDER.argument),
      },
      extensions: {
        ...refusable(listAuditEntries.access, { actingOrganization: true }),
        ...needs<{ id: string }>('id'),
      },
      resolve: ({ id: organizationId }, args, context, info) => {
        const { filter, orderBy, ...page } = args;
        const selected = selectedColumns<AuditEntryRow>(info, 'AuditEntry');
        const asked = { organizationId, filter: filter ?? {}, order: AUDIT_ENTRY_ORDER.orderOf(orderBy), page };
        const list = () => listAuditEntries(context, asked, selected);
        return resolveList({ context, info, args }, organizationId, list, selected);
      },
    },
    AuditEntryConnection,
  ),
);
