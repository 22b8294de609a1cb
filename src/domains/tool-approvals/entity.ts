import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { SessionId, ToolApprovalId } from '../../core/ids.ts';
import type { SealedColumn } from '../../core/secrets/secret-check.ts';
import type { SecretPlace } from '../../core/secrets/secrets.ts';
import { McpConnection } from '../mcp-connections/public.ts';
import { Organization } from '../organizations/public.ts';
import { User } from '../users/public.ts';

/** The states that are stored. An approval that is not used in time is shown as expired. */
const STORED_STATES = ['PENDING', 'APPROVED', 'DENIED', 'USED'] as const;
export const TOOL_APPROVAL_STATES = [...STORED_STATES, 'EXPIRED'] as const;
export type ToolApprovalState = (typeof TOOL_APPROVAL_STATES)[number];

const ToolApprovalSchema = defineEntity({
  name: 'ToolApproval',
  tableName: 'tool_approval',
  properties: {
    id: p.uuid().$type<ToolApprovalId>().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    connection: () => p.manyToOne(McpConnection).deleteRule('cascade'),
    /** The caller: a person or a service account. */
    user: () => p.manyToOne(User).deleteRule('cascade'),
    /** Who made the key of the caller, and therefore cannot decide either. */
    keyCreatedBy: () => p.manyToOne(User).nullable().deleteRule('set null'),
    sessionId: p.uuid().$type<SessionId>().nullable(),
    toolName: p.text(),
    argumentsDigest: p.text(),
    /** The hash of what the server says of the tool. */
    definitionHash: p.text(),
    /** The beginning of the arguments, without credentials. */
    preview: p.text(),
    /** All of the arguments, encrypted, until the decision or the end. */
    sealedArguments: p.text().nullable(),
    state: p.enum(STORED_STATES),
    decidedBy: () => p.manyToOne(User).nullable().deleteRule('set null'),
    decidedAt: p.datetime().nullable(),
    /** The hash of what the tool wants with the input of a person: repeating the call with it belongs to the same approval, once. */
    continuationHash: p.text().nullable(),
    createdAt: p.datetime(),
    expiresAt: p.datetime(),
  },
  indexes: [
    { name: 'tool_approval_organization_index', properties: ['organization', 'createdAt', 'id'] },
    { name: 'tool_approval_call_index', properties: ['connection', 'user', 'expiresAt'] },
    { name: 'tool_approval_user_index', properties: ['user'] },
    { name: 'tool_approval_key_created_by_index', properties: ['keyCreatedBy'] },
    { name: 'tool_approval_decided_by_index', properties: ['decidedBy'] },
    { name: 'tool_approval_age_index', properties: ['createdAt'] },
    {
      name: 'tool_approval_sealed_index',
      properties: ['expiresAt'],
      where: 'sealed_arguments is not null',
    },
  ],
});

/** A call of a tool that somebody else must approve before it is made, once. */
export class ToolApproval extends ToolApprovalSchema.class {}
ToolApprovalSchema.setClass(ToolApproval);

export type ToolApprovalTables = InferKyselyDB<typeof ToolApprovalSchema>;

export const placeOfArguments = (id: string): SecretPlace => ({ table: 'tool_approval', row: id, field: 'arguments' });

/** The column with encrypted arguments. */
export const ARGUMENTS_COLUMN: SealedColumn = {
  table: 'tool_approval',
  column: 'sealed_arguments',
  keys: ['id'],
  placeOf: ({ id = '' }) => placeOfArguments(id),
  condition: 'sealed_arguments is not null and expires_at > now()',
};
