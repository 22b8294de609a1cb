import { randomUUID } from 'node:crypto';
import {
  type GraphQLField,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isLeafType,
  isListType,
} from 'graphql';

/** The ids and names by which requests refer to objects: one of each kind, in one organization. */
export interface References {
  readonly organizationId: string;
  readonly slug: string;
  readonly userId: string;
  /** A member whose membership is suspended. */
  readonly suspendedUserId: string;
  readonly apiKeyId: string;
  readonly serviceAccountId: string;
  readonly groupId: string;
  readonly connectedAppId: string;
  readonly invitationId: string;
  readonly sessionId: string;
  readonly artifactId: string;
  readonly pullRequestId: string;
  readonly projectId: string;
  readonly repositoryId: string;
  readonly channelGuid: string;
  readonly broadcastGuid: string;
  /** The keys in the global ids of an occurrence, an audit log entry and an entry of the feed. */
  readonly occurrenceKey: string;
  readonly auditEntryKey: string;
  readonly feedEntryKey: string;
  readonly mcpConnectionId: string;
  readonly toolApprovalId: string;
  readonly deletionJobId: string;
  /** The name, the fully qualified name and the id of one event definition. */
  readonly eventNames: readonly [string, string, string];
  readonly property: string;
  /** The name of a property and the key of one of its options. */
  readonly optionKey: string;
  readonly identifierId: string;
  /** The id of a count of refused occurrences. */
  readonly violationId: string;
  readonly webhookId: string;
  readonly webhookDeliveryId: string;
  /** Of the client and version of {@link MANIFEST}. */
  readonly manifestId: string;
}

export const MANIFEST = { client: 'recorded', version: '1' };

/** For each type that `node` finds, the key in the global id. */
export const OBJECTS: Readonly<Record<string, (to: References) => string>> = {
  Organization: (to) => to.organizationId,
  User: (to) => to.userId,
  OrganizationMember: (to) => `${to.organizationId}:${to.userId}`,
  AuditEntry: (to) => to.auditEntryKey,
  FeedEntry: (to) => to.feedEntryKey,
  ApiKey: (to) => to.apiKeyId,
  ServiceAccount: (to) => to.serviceAccountId,
  Group: (to) => to.groupId,
  ConnectedApp: (to) => to.connectedAppId,
  OrganizationInvitation: (to) => to.invitationId,
  Session: (to) => to.sessionId,
  SessionSource: (to) => to.sessionId,
  SourcePullRequest: (to) => to.sessionId,
  SourceRepository: (to) => `${to.sessionId}:${to.repositoryId}`,
  Project: (to) => to.projectId,
  Artifact: (to) => to.artifactId,
  PullRequest: (to) => to.pullRequestId,
  CodeRepository: (to) => `${to.organizationId}:${to.repositoryId}`,
  McpServer: (to) => to.mcpConnectionId,
  ToolApproval: (to) => to.toolApprovalId,
  DeletionJob: (to) => to.deletionJobId,
  SessionEvent: (to) => `${to.sessionId}:1`,
  ToolCall: (to) => `${to.sessionId}:5`,
  SessionSubagent: (to) => `${to.sessionId}:tool`,
  UserMessage: (to) => `${to.sessionId}:1`,
  AgentMessage: (to) => `${to.sessionId}:2`,
  Thinking: (to) => `${to.sessionId}:3`,
  SessionNote: (to) => `${to.sessionId}:4`,
  EventDefinition: (to) => to.eventNames[2],
  EventOccurrence: (to) => to.occurrenceKey,
  EventProperty: (to) => `${to.eventNames[2]}:${to.property}`,
  EventPropertyOption: (to) => `${to.eventNames[2]}:${to.optionKey}`,
  ObjectIdentifier: (to) => to.identifierId,
  EventViolation: (to) => to.violationId,
  Webhook: (to) => to.webhookId,
  WebhookDelivery: (to) => to.webhookDeliveryId,
};
export const OBJECTS_FILE = 'OBJECTS in test/support/operations/references.ts';

export const globalId = (type: string, key: string) => Buffer.from(`${type}:${key}`).toString('base64');
export const nodeIds = (to: References) => Object.entries(OBJECTS).map(([type, key]) => globalId(type, key(to)));

const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;
const inEitherCase = (id: string) => [...new Set([id, id.toUpperCase()])];

/** References to objects that do not exist, of the same form. `mark` is the text that the names of events begin with. */
export function absentInstead<Given extends References>(to: Given, mark: string): Given {
  const ids = new Map<string, string>();
  const absent = (text: string) =>
    text.replaceAll(mark, 'absent').replaceAll(UUID, (id) => {
      const other = ids.get(id) ?? randomUUID();
      ids.set(id, other);
      return other;
    });
  const replaced = Object.entries(to).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' ? absent(value) : name === 'eventNames' ? to.eventNames.map(absent) : value,
  ]);
  // The same members as before, each with a value of the same type.
  return { ...(Object.fromEntries(replaced) as Given), feedEntryKey: `${to.organizationId}:999999` };
}

/** Whether a path names an object by its id or name. The source of a session is a text of the caller, by which nobody else finds it. */
export const refersIn = (path: string) => /:(?!agent|sourceId|client|version)/.test(path);

/** The values of a path parameter that refer to the object; empty for an unknown parameter. */
export function parameterValues(name: string, to: References): string[] {
  if (name === 'client' || name === 'version') return [MANIFEST[name]];
  if (name === 'agent') return ['claude'];
  if (name === 'sourceId') return [randomUUID()];
  if (name === 'eventName' || name === 'name') return [...to.eventNames];
  const renamed = { propertyName: 'property', broadcast_guid: 'broadcastGuid', deliveryId: 'webhookDeliveryId' };
  const key = Object.entries(renamed).find(([parameter]) => parameter === name)?.[1] ?? name;
  const value: unknown = Object.entries(to).find(([reference]) => reference === key)?.[1];
  if (typeof value !== 'string') return [];
  return name === 'propertyName' ? [value] : inEitherCase(value);
}

/** The ways to name an object by its id. */
function waysToName(id: string, to: References): string[] {
  const type = id === to.suspendedUserId ? 'User' : Object.entries(OBJECTS).find(([, key]) => key(to) === id)?.[0];
  return type === undefined ? [] : [...inEitherCase(id), globalId(type, id)];
}

/** The inputs that refer to the same object in all ways: by what the field `…Id` or `eventName` can be. Empty for an input without a reference. */
export function waysToRefer(input: object, to: References): object[] {
  return Object.entries(input).flatMap(([name, value]: [string, unknown]) => {
    const withValue = (other: unknown) => ({ ...input, [name]: other });
    if (Array.isArray(value))
      return value.flatMap((item: unknown) =>
        typeof item === 'object' && item !== null ? waysToRefer(item, to).map((way) => withValue([way])) : [],
      );
    if (typeof value !== 'string') return [];
    if (name === 'eventName') return value === to.eventNames[0] ? to.eventNames.map(withValue) : [];
    return name.endsWith('Id') ? waysToName(value, to).map(withValue) : [];
  });
}

/** The arguments of a query or subscription that name an object, each with the values that name it. */
function referringArguments({ name: field, type, args }: GraphQLField<unknown, unknown>) {
  const { name: typeName } = getNamedType(type);
  return args.flatMap(({ name, type: given }): { name: string; valuesOf: (to: References) => unknown[] }[] => {
    if (typeName === 'EventDefinition') return [{ name, valuesOf: (to) => [...to.eventNames] }];
    if (getNamedType(given).name !== 'ID' || !/^ids?$|Id$/.test(name)) return [];
    if (typeName === 'Node') return [{ name, valuesOf: name === 'ids' ? (to) => [nodeIds(to)] : nodeIds }];
    const referred = name === 'id' ? typeName : name.charAt(0).toUpperCase() + name.slice(1).replace(/Id$/, '');
    const keyOf = OBJECTS[referred];
    if (!keyOf) throw new Error(`${field} refers to ${referred}: add it to ${OBJECTS_FILE}`);
    return [{ name, valuesOf: (to) => [keyOf(to), globalId(referred, keyOf(to))] }];
  });
}

/** Whether a query or subscription names an object. */
export const namesObject = (field: GraphQLField<unknown, unknown>) => referringArguments(field).length > 0;

/** Its selections that name the same object in all ways. */
export function selectionsOf(field: GraphQLField<unknown, unknown>, to: References): string[] {
  const below = isLeafType(getNamedType(field.type)) ? '' : '{ __typename }';
  return referringArguments(field).flatMap(({ name, valuesOf }) =>
    valuesOf(to).map((value) => `${field.name}(${name}: ${JSON.stringify(value)}) ${below}`),
  );
}

/** Whether the input of a mutation can refer to an object by its id or name. Lists of ids are not references: unknown ones are ignored. */
export function canRefer(type: GraphQLInputType | undefined): boolean {
  const input = type && getNullableType(type);
  if (isListType(input)) return canRefer(input.ofType);
  if (!isInputObjectType(input)) return false;
  return Object.values(input.getFields()).some(
    (field) =>
      (field.name.endsWith('Id') && getNullableType(field.type).toString() === 'ID') ||
      field.name === 'eventName' ||
      canRefer(field.type),
  );
}
