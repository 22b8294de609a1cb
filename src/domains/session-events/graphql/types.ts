import type { FieldsOf } from '../../../core/graphql/nodes.ts';
import { builder } from '../../../core/graphql/builder.ts';
import {
  DELIVERIES,
  DELTA_TYPES,
  type EventData,
  RESPONSE_PHASES,
  SCOPE_KINDS,
  TOOL_RESULT_STATUSES,
} from '../event-data.ts';

type Part<Field extends keyof EventData> = NonNullable<EventData[Field]>;

/** The value of an enumeration; null for an unknown value, which is available in `eventDataJson`. */
function known<Value extends string>(values: readonly Value[], value: string | null | undefined): Value | null {
  for (const each of values) if (each === value) return each;
  return null;
}
const NULL_IF_UNKNOWN = 'Null when it was not recorded, or has another value, which is in `eventDataJson`.';

export const ScopeKindEnum = builder.enumType('EventScopeKind', {
  description: 'Who acts in an event.',
  values: {
    FOREGROUND: { value: 'foreground', description: 'The agent itself.' },
    SUBAGENT: { value: 'subagent', description: 'Another agent that the agent started.' },
    BACKGROUND: { value: 'background', description: 'A background task.' },
  },
} as const);

export const DeliveryEnum = builder.enumType('EventDelivery', {
  description: 'How an event was delivered.',
  values: {
    REALTIME: { value: 'realtime', description: 'The event was sent while it happened.' },
    PERSIST: { value: 'persist', description: 'The event was sent only for storage.' },
  },
} as const);

const DeltaTypeEnum = builder.enumType('EventDeltaType', {
  description: 'What a delta event adds to.',
  values: {
    TEXT_DELTA: { value: 'text_delta', description: 'Text.' },
    INPUT_JSON_DELTA: { value: 'input_json_delta', description: 'The input of a tool.' },
  },
} as const);

const ResponsePhaseEnum = builder.enumType('EventResponsePhase', {
  description: 'The part of a response that an event belongs to.',
  values: {
    COMMENTARY: { value: 'commentary', description: 'Text of the agent before its final answer.' },
    FINAL_ANSWER: { value: 'final_answer', description: 'The final answer of the agent.' },
  },
} as const);

const ToolStatusEnum = builder.enumType('ToolResultStatus', {
  description: 'The state of a tool call.',
  values: {
    RUNNING: { value: 'running', description: 'The tool is running.' },
    COMPLETED: { value: 'completed', description: 'The tool call succeeded.' },
    ERROR: { value: 'error', description: 'The tool call failed.' },
  },
} as const);

const ScopeType = builder.objectRef<Part<'scope'>>('EventScope').implement({
  description: 'Who acts in an event, and in which task.',
  fields: (t) => ({
    kind: t.field({
      type: ScopeKindEnum,
      nullable: true,
      description: `Who acts. ${NULL_IF_UNKNOWN}`,
      resolve: ({ kind }) => known(SCOPE_KINDS, kind),
    }),
    parentToolUseId: t.exposeString('parentToolUseId', {
      nullable: true,
      description: 'Id of the tool call that started the agent or task. Null when it was not recorded.',
    }),
    taskId: t.exposeString('taskId', { nullable: true, description: 'Id of the task. Null when it was not recorded.' }),
  }),
});

const ProviderEventType = builder.objectRef<Part<'event'>>('ProviderEvent').implement({
  description: 'The original event of the model provider.',
  fields: (t) => ({
    event: t.exposeString('event', { description: 'Name of the event.' }),
    message: t.exposeString('message', { description: 'Text of the event.' }),
    provider: t.exposeString('provider', {
      nullable: true,
      description: 'Name of the provider. Null when it was not recorded.',
    }),
    messageId: t.exposeString('messageId', {
      nullable: true,
      description: 'Id of the message that the event belongs to. Null when it was not recorded.',
    }),
  }),
});

const ToolResultType = builder.objectRef<Part<'toolResult'>>('ToolResult').implement({
  description: 'The result of a tool call.',
  fields: (t) => ({
    status: t.field({
      type: ToolStatusEnum,
      nullable: true,
      description: `The state of the tool call. ${NULL_IF_UNKNOWN}`,
      resolve: ({ status }) => known(TOOL_RESULT_STATUSES, status),
    }),
    output: t.exposeString('output', {
      nullable: true,
      description: 'Output of the tool. Null when it was not recorded.',
    }),
    exitCode: t.exposeInt('exitCode', {
      nullable: true,
      description: 'Exit code of the command. Null when it was not recorded.',
    }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'Why the tool call failed. Null when it was not recorded.',
    }),
  }),
});

type Fields = FieldsOf<EventData>;

/** Fields about the origin and the delivery of an event. */
function originFields(t: Fields) {
  return {
    type: t.exposeString('type', { description: 'Type of the data.' }),
    scope: t.expose('scope', {
      type: ScopeType,
      nullable: true,
      description: 'Who acts. Null when it was not recorded.',
    }),
    source: t.exposeString('source', {
      nullable: true,
      description: 'Where the event comes from. Null when it was not recorded.',
    }),
    providerEvent: t.exposeBoolean('providerEvent', {
      nullable: true,
      description: 'Whether the model provider sent the event. Null when it was not recorded.',
    }),
    delivery: t.field({
      type: DeliveryEnum,
      nullable: true,
      description: `How the event was delivered. ${NULL_IF_UNKNOWN}`,
      resolve: ({ delivery }) => known(DELIVERIES, delivery),
    }),
    event: t.expose('event', {
      type: ProviderEventType,
      nullable: true,
      description: 'The original event of the model provider. Null when it was not recorded.',
    }),
  };
}

/** Fields about the content of a message. */
function contentFields(t: Fields) {
  return {
    index: t.exposeInt('index', {
      nullable: true,
      description: 'Position of the content block in the message. Null when it was not recorded.',
    }),
    itemId: t.exposeString('itemId', {
      nullable: true,
      description: 'Id of the item that the event belongs to. Null when it was not recorded.',
    }),
    sequenceNumber: t.exposeInt('sequenceNumber', {
      nullable: true,
      description: 'Number of the event in the message. Null when it was not recorded.',
    }),
    accumulatedText: t.exposeString('accumulatedText', {
      nullable: true,
      description: 'All text of the content block so far. Null when it was not recorded.',
    }),
    deltaType: t.field({
      type: DeltaTypeEnum,
      nullable: true,
      description: `What a delta event adds to. ${NULL_IF_UNKNOWN}`,
      resolve: ({ deltaType }) => known(DELTA_TYPES, deltaType),
    }),
    responsePhase: t.field({
      type: ResponsePhaseEnum,
      nullable: true,
      description: `The part of the response that the event belongs to. ${NULL_IF_UNKNOWN}`,
      resolve: ({ responsePhase }) => known(RESPONSE_PHASES, responsePhase),
    }),
  };
}

/** Fields about tool calls and snapshots. */
function toolFields(t: Fields) {
  return {
    toolName: t.exposeString('toolName', {
      nullable: true,
      description: 'Name of the called tool. Null when it was not recorded.',
    }),
    toolResult: t.expose('toolResult', {
      type: ToolResultType,
      nullable: true,
      description: 'The result of the tool call. Null when it was not recorded.',
    }),
    snapshotId: t.exposeString('snapshotId', {
      nullable: true,
      description: 'Id of the snapshot that was taken. Null when it was not recorded.',
    }),
    snapshotCreatedAt: t.exposeString('snapshotCreatedAt', {
      nullable: true,
      description: 'When the snapshot was taken, as the runner wrote it. Null when it was not recorded.',
    }),
  };
}

export const EventDataType = builder.objectRef<EventData>('SessionEventData').implement({
  description: 'The documented fields of the data of an event. Other fields are in `eventDataJson`.',
  fields: (t) => ({ ...originFields(t), ...contentFields(t), ...toolFields(t) }),
});
