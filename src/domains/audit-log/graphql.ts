import { z } from 'zod';
import type { AuditSource } from '../../core/audit.ts';
import { builder } from '../../core/graphql/builder.ts';
import { connectionType, resolveList } from '../../core/graphql/connections.ts';
import { keyFromAnyId, keyFromId, toGlobalId } from '../../core/graphql/nodes.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import { needs, selectedColumns } from '../../core/graphql/selection.ts';
import { OrganizationType } from '../organizations/graphql/types.ts';
import { UserType } from '../users/graphql.ts';
import { auditLogFilter } from './input.ts';
import { listAuditEntries } from './operations.ts';
import type { AuditEntryRow } from './queries.ts';

const SourceEnum = builder.enumType('AuditSource', {
  description: 'By which way something was changed.',
  values: {
    REQUEST: { value: 'request', description: 'By a request, over GraphQL or REST.' },
    COMMAND_LINE: { value: 'command_line', description: "By the operator's command line." },
    JOB: { value: 'job', description: 'By a job, which a request had queued.' },
  } satisfies Record<string, { value: AuditSource; description: string }>,
});

const AuditEntryType = builder.objectRef<AuditEntryRow>('AuditEntry').implement({
  description:
    'One operation that has changed something. Written together with the change: there is none without the other.',
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'Its id in the database.' }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime', description: 'When it was done.' }),
    source: t.expose('source', { type: SourceEnum, description: 'By which way.' }),
    operation: t.exposeString('operation', {
      description: 'What was done: the name of the operation, such as `revokeApiKey`.',
    }),
    targetType: t.exposeString('targetType', {
      description:
        'What was changed: a GraphQL type; or `Broadcast`, `BroadcastChannel` or `ObjectIdentifier`, which have none.',
    }),
    targetId: t.id({
      nullable: true,
      description:
        'Global id of what was changed; it may be gone by now. Null when several were changed at once, and for deleted accounts.',
      extensions: needs<AuditEntryRow>('targetType', 'targetId'),
      resolve: ({ targetType, targetId }) => targetId && toGlobalId(targetType, targetId),
    }),
    user: t.field({
      type: UserType,
      nullable: true,
      description: 'Who did it, former members included. Null for a deleted account, the command line and jobs.',
      extensions: needs<AuditEntryRow>('userId', 'email', 'name', 'userCreatedAt'),
      resolve: ({ userId: id, email, name, userCreatedAt: createdAt }) =>
        id !== null && createdAt !== null ? { id, email, name, createdAt } : null,
    }),
    apiKeyId: t.id({
      nullable: true,
      description: 'Global id of the API key that it was done with; null for the command line and jobs.',
      extensions: needs<AuditEntryRow>('keyId'),
      resolve: ({ keyId }) => keyId && toGlobalId('ApiKey', keyId),
    }),
    requestId: t.exposeString('requestId', {
      description: '`X-Request-Id` of the request, as in the log of the gateway; of a job its id.',
    }),
  }),
});

const FilterInput = builder.inputType('AuditLogFilter', {
  description: 'Which entries to list; all conditions hold together.',
  validate: z.preprocess(withPlainIds, auditLogFilter),
  fields: (t) => ({
    userId: t.id({ description: 'Done by this user; either id.' }),
    operation: t.string({ description: 'Of this operation, such as `revokeApiKey`.' }),
    targetId: t.id({ description: 'Which have changed this; either id.' }),
    occurredFrom: t.field({ type: 'DateTime', description: 'At this moment or after it.' }),
    occurredBefore: t.field({ type: 'DateTime', description: 'Before this moment.' }),
  }),
});

function withPlainIds(filter: unknown): unknown {
  if (typeof filter !== 'object' || filter === null) return filter;
  const { userId, targetId, ...rest } = filter as Record<string, unknown>;
  return { ...rest, userId: keyFromId('User', userId), targetId: keyFromAnyId(targetId) };
}

const AuditEntryConnection = connectionType(AuditEntryType, { of: 'audit log entries' });

builder.objectField(OrganizationType, 'auditLog', (t) =>
  t.connection(
    {
      type: AuditEntryType,
      description: 'Who has changed what in it, latest first. Kept for a year unless configured otherwise.',
      args: { filter: t.arg({ type: FilterInput, description: 'Conditions.' }) },
      extensions: {
        ...refusable(listAuditEntries.access, { actingOrganization: true }),
        ...needs<{ id: string }>('id'),
      },
      resolve: ({ id: organizationId }, args, context, info) => {
        const { filter, ...page } = args;
        const selected = selectedColumns<AuditEntryRow>(info, 'AuditEntry');
        const list = () => listAuditEntries(context, { organizationId, filter: filter ?? {}, page }, selected);
        return resolveList({ context, info, args }, organizationId, list, selected);
      },
    },
    AuditEntryConnection,
  ),
);
