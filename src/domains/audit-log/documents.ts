import { z } from 'zod';
import { type Access, type Actor, hasAccess } from '../../core/access.ts';
import { AUDIT_SOURCES, REFUSALS, REQUEST_ID_ORIGINS, TOOL_CALL_OUTCOMES } from '../../core/audit.ts';
import { answering, documentOf } from '../../core/documents.ts';
import { READ_API_KEYS } from '../api-keys/public.ts';
import { EVENT_DEFINITIONS } from '../event-definitions/public.ts';
import type { AuditEntryRow } from './queries.ts';

/** What both APIs answer. */

export const AUDIT_TEXTS = {
  operation:
    'Name of the operation, such as `revokeApiKey`. For a refused attempt it can also be the name of a GraphQL field, or `graphql` when the request was refused before its document was read.',
  targetType:
    'Type of the changed object: a GraphQL type, `Broadcast`, `BroadcastChannel`, or `OperationManifest`. For a refused attempt it is `ApiKey`, and `User` for a sign-in with the identity provider.',
  targetId:
    'Global id of the changed object, which may have been deleted since. Null when several objects were changed at once, and for a deleted account. For a refused attempt it is the id of the API key, or of the person if the identity is known.',
  target:
    'The changed object, as `node` finds it by `targetId`. Null like `targetId`, when the object has been deleted since, when the caller cannot read it, and for types that `node` does not find.',
  targetLabel:
    'Name of the changed object at that time: of a person with the e-mail address, of an API key with its preview, of an invitation the invited address, of an event definition and a service account its name. It stays when the object is gone, and is null after the deletion of the account that it names, for other types, without `audit_log.read` and the scope `api_keys.read` or `behavioral_events.event_definitions.read_write` for objects of these scopes, and for entries written before this field existed.',
  actor:
    'Who did it: a person, also after they left the organization, or a service account. Null for a deleted account, the command line and jobs.',
  actorLabel:
    'Who did it, for people: name and e-mail address, the name of a service account, or `Deleted person` with hexadecimal digits that are the same in all entries of a person whose account was deleted. Null for the command line, for jobs, for a deleted service account, and for accounts that were deleted before this field existed.',
  apiKey:
    'The API key that was used, which may be revoked. Null for the command line, for jobs, and for an unbound key or a sign-in of another user.',
  clientAddress:
    'Address from which a person signed in or was refused, a key or the grant of a client was created, an invitation was accepted, or the organization was exported. Null for other operations, after the deletion of the account that did it, and for entries written before this field existed.',
  userAgent:
    '`User-Agent` of the request, at most 500 characters. Null like `clientAddress`, and when the client sends none.',
  requestIdOrigin:
    'Who chose `requestId`. Null for the command line, for jobs, and for entries written before this field existed.',
  changedFields:
    'Names of the fields that an update changed, without their values, such as `toolPolicy`. Null for other operations, for updates that do not name them, and for entries written before this field existed.',
  detail:
    'For a refused attempt what the caller was told, such as the scope that the key lacks. For others the new value of what decides something, as REST names it: a state, a role, a visibility, days of retention, scopes and expiry of a new key, the reason of a hold, the host of a webhook: `public`; of several fields `mode: planning, visibility: public`. Null for operations that set no such value, and for entries written before this field existed.',
} as const;

/** Whoever reads the log with `organizations.write` can read names of people, and invitations. */
const LABEL_ACCESS: ReadonlyMap<string, Access> = new Map([
  ['ApiKey', READ_API_KEYS],
  ['EventDefinition', EVENT_DEFINITIONS],
]);

export function labelOf({ targetType, targetLabel }: AuditEntryRow, actor: Actor): string | null {
  // This scope opens all names of the log.
  const access = actor.scopes.has('audit_log.read') ? undefined : LABEL_ACCESS.get(targetType);
  return access && !hasAccess(actor, access) ? null : targetLabel;
}

export const TOOL_CALL_TEXT =
  'For `callMcpTool`: what is recorded of the call, before it and again after it. Null for others.';

export function actorLabelOf({ erasedLabel, email, name }: AuditEntryRow): string | null {
  if (erasedLabel !== null) return `Deleted person ${erasedLabel}`;
  return email !== null && name !== null ? `${name} (${email})` : (email ?? name);
}

const IDS = {
  targetId:
    'Id of the changed object. Null when several objects were changed at once, and for a deleted account. For a refused attempt it is the id of the API key.',
  actorId: 'Id of who did it. Null like `actor` in GraphQL.',
};

export const auditEntryDocument = documentOf(
  {
    id: 'The id of the entry.',
    occurredAt: 'When the operation took place.',
    source: 'Where the change came from: a request, the command line of the operator, or a job.',
    operation: AUDIT_TEXTS.operation,
    targetType: AUDIT_TEXTS.targetType,
    targetId: IDS.targetId,
    targetLabel: AUDIT_TEXTS.targetLabel,
    actorId: IDS.actorId,
    actorLabel: AUDIT_TEXTS.actorLabel,
    apiKeyId: 'Id of the API key that was used. Null for the command line and for jobs.',
    clientAddress: AUDIT_TEXTS.clientAddress,
    userAgent: AUDIT_TEXTS.userAgent,
    requestId: '`X-Request-Id` of the request, or the id of the job.',
    requestIdOrigin: AUDIT_TEXTS.requestIdOrigin,
    changedFields: AUDIT_TEXTS.changedFields,
    detail: AUDIT_TEXTS.detail,
    toolCall: TOOL_CALL_TEXT,
    refusal: 'Why the attempt was refused. Null for an operation that changed something.',
  },
  {
    id: z.uuid().meta({ example: '2b6f0cc9-04d6-4d3a-9b0e-6a1f0f6c5d21' }),
    occurredAt: z.iso.datetime().meta({ example: '2026-03-01T10:20:31.000Z' }),
    source: z.enum(AUDIT_SOURCES).meta({ example: 'request' }),
    operation: z.string().meta({ example: 'revokeApiKey' }),
    targetType: z.string().meta({ example: 'ApiKey' }),
    targetId: z.uuid().nullable().meta({ example: '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d' }),
    targetLabel: z.string().nullable().meta({ example: 'Continuous integration (wgk_ab12…yz)' }),
    actorId: z.uuid().nullable().meta({ example: '4c8a1d2e-7b3f-4e6a-8c9d-0e1f2a3b4c5d' }),
    actorLabel: z.string().nullable().meta({ example: 'Ada (ada@example.com)' }),
    apiKeyId: z.uuid().nullable().meta({ example: '1f0e9d8c-7b6a-4f5e-8d3c-2b1a09f8e7d6' }),
    clientAddress: z.string().nullable(),
    userAgent: z.string().nullable(),
    requestId: z.string().meta({ example: 'a3bb189e-8bf9-4888-9912-ace4e6543002' }),
    requestIdOrigin: z.enum(REQUEST_ID_ORIGINS).nullable().meta({ example: 'gateway' }),
    changedFields: z.array(z.string()).nullable(),
    detail: z.string().nullable(),
    toolCall: z
      .strictObject({
        toolName: z.string(),
        sessionId: z.uuid().nullable(),
        outcome: z.enum(TOOL_CALL_OUTCOMES).optional(),
        durationMs: z.number().optional(),
        bytes: z.number().optional(),
      })
      .nullable(),
    refusal: z.enum(REFUSALS).nullable(),
  },
).meta({ id: 'AuditEntry' });

/** The entry as REST answers it to a caller. */
export const toAuditEntry = (actor: Actor) =>
  answering<AuditEntryRow, typeof auditEntryDocument>(auditEntryDocument, (row) => ({
    targetLabel: labelOf(row, actor),
    actorId: row.userId,
    actorLabel: actorLabelOf(row),
    apiKeyId: row.keyId,
  }));
