import type { FieldsOf } from '../../../core/graphql/nodes.ts';
import { builder } from '../../../core/graphql/builder.ts';
import { excerptArguments, excerptOf } from '../../../core/graphql/excerpts.ts';
import { enumOf } from '../../../core/graphql/enums.ts';
import {
  DELIVERIES,
  DELTA_TYPES,
  type EventData,
  RESPONSE_PHASES,
  SCOPE_KINDS,
  TOOL_RESULT_STATUSES,
} from '../event-data.ts';
import { EVENT_DATA_TEXTS, PROVIDER_EVENT_TEXTS, SCOPE_TEXTS, TOOL_RESULT_TEXTS } from '../texts.ts';

type Part<Field extends keyof EventData> = NonNullable<EventData[Field]>;

/** The value of an enumeration; null for an unknown value, which is available in `eventDataJson`. */
function known<Value extends string>(values: readonly Value[], value: string | null | undefined): Value | null {
  for (const each of values) if (each === value) return each;
  return null;
}
/** The description of a field that is null when it was not recorded. */
const recorded = (text: string) => `${text} Null when it was not recorded.`;
const NULL_IF_UNKNOWN = 'Null when it was not recorded, or has another value, which is in `eventDataJson`.';

const NULL_IF_LARGE = 'Null when it was not recorded, or has more than 32 bits; then it is in `eventDataJson`.';

/** A recorded integer, which can have 64 bits, as the Int of GraphQL. */
function asInt(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value + 0.5) < 2 ** 31 ? value : null;
}

const ScopeKindEnum = enumOf('EventScopeKind', 'Who acts in an event.', SCOPE_KINDS, {
  foreground: 'The agent itself.',
  subagent: 'Another agent that the agent started.',
  background: 'A background task.',
});

const DeliveryEnum = enumOf('EventDelivery', 'How an event was delivered.', DELIVERIES, {
  realtime: 'The event was sent while it happened.',
  persist: 'The event was sent only for storage.',
});

const DeltaTypeEnum = enumOf('EventDeltaType', 'What a delta event adds to.', DELTA_TYPES, {
  text_delta: 'Text.',
  input_json_delta: 'The input of a tool.',
});

const ResponsePhaseEnum = enumOf(
  'EventResponsePhase',
  'The part of a response that an event belongs to.',
  RESPONSE_PHASES,
  {
    commentary: 'Text of the agent before its final answer.',
    final_answer: 'The final answer of the agent.',
  },
);

const ToolStatusEnum = enumOf('ToolResultStatus', 'The state of a tool call.', TOOL_RESULT_STATUSES, {
  running: 'The tool is running.',
  completed: 'The tool call succeeded.',
  error: 'The tool call failed.',
});

const ScopeType = builder.objectRef<Part<'scope'>>('EventScope').implement({
  description: 'Who acts in an event, and in which task.',
  fields: (t) => ({
    kind: t.field({
      type: ScopeKindEnum,
      nullable: true,
      description: `${SCOPE_TEXTS.kind} ${NULL_IF_UNKNOWN}`,
      resolve: ({ kind }) => known(SCOPE_KINDS, kind),
    }),
    parentToolUseId: t.exposeString('parentToolUseId', {
      nullable: true,
      description: recorded(SCOPE_TEXTS.parentToolUseId),
    }),
    taskId: t.exposeString('taskId', { nullable: true, description: recorded(SCOPE_TEXTS.taskId) }),
  }),
});

const ProviderEventType = builder.objectRef<Part<'event'>>('ProviderEvent').implement({
  description: 'The original event of the model provider.',
  fields: (t) => ({
    event: t.exposeString('event', { description: PROVIDER_EVENT_TEXTS.event }),
    message: t.string({
      description: PROVIDER_EVENT_TEXTS.message,
      args: excerptArguments,
      resolve: ({ message }, args) => excerptOf(message, args),
    }),
    provider: t.exposeString('provider', {
      nullable: true,
      description: recorded(PROVIDER_EVENT_TEXTS.provider),
    }),
    messageId: t.exposeString('messageId', {
      nullable: true,
      description: recorded(PROVIDER_EVENT_TEXTS.messageId),
    }),
  }),
});

const ToolResultType = builder.objectRef<Part<'toolResult'>>('ToolResult').implement({
  description: 'The result of a tool call.',
  fields: (t) => ({
    status: t.field({
      type: ToolStatusEnum,
      nullable: true,
      description: `${TOOL_RESULT_TEXTS.status} ${NULL_IF_UNKNOWN}`,
      resolve: ({ status }) => known(TOOL_RESULT_STATUSES, status),
    }),
    output: t.string({
      nullable: true,
      description: recorded(TOOL_RESULT_TEXTS.output),
      args: excerptArguments,
      resolve: ({ output }, args) => (output == null ? null : excerptOf(output, args)),
    }),
    exitCode: t.int({
      nullable: true,
      description: `${TOOL_RESULT_TEXTS.exitCode} ${NULL_IF_LARGE}`,
      resolve: ({ exitCode }) => asInt(exitCode),
    }),
    error: t.string({
      nullable: true,
      description: recorded(TOOL_RESULT_TEXTS.error),
      args: excerptArguments,
      resolve: ({ error }, args) => (error == null ? null : excerptOf(error, args)),
    }),
  }),
});

type Fields = FieldsOf<EventData>;

/** Fields about the origin and the delivery of an event. */
function originFields(t: Fields) {
  return {
    type: t.exposeString('type', { description: EVENT_DATA_TEXTS.type }),
    scope: t.expose('scope', {
      type: ScopeType,
      nullable: true,
      description: recorded(EVENT_DATA_TEXTS.scope),
    }),
    source: t.exposeString('source', {
      nullable: true,
      description: recorded(EVENT_DATA_TEXTS.source),
    }),
    providerEvent: t.exposeBoolean('providerEvent', {
      nullable: true,
      description: recorded(EVENT_DATA_TEXTS.providerEvent),
    }),
    delivery: t.field({
      type: DeliveryEnum,
      nullable: true,
      description: `${EVENT_DATA_TEXTS.delivery} ${NULL_IF_UNKNOWN}`,
      resolve: ({ delivery }) => known(DELIVERIES, delivery),
    }),
    event: t.expose('event', {
      type: ProviderEventType,
      nullable: true,
      description: recorded(EVENT_DATA_TEXTS.event),
    }),
  };
}

/** Fields about the content of a message. */
function contentFields(t: Fields) {
  return {
    index: t.int({
      nullable: true,
      description: `${EVENT_DATA_TEXTS.index} ${NULL_IF_LARGE}`,
      resolve: ({ index }) => asInt(index),
    }),
    itemId: t.exposeString('itemId', {
      nullable: true,
      description: recorded(EVENT_DATA_TEXTS.itemId),
    }),
    sequenceNumber: t.int({
      nullable: true,
      description: `${EVENT_DATA_TEXTS.sequenceNumber} ${NULL_IF_LARGE}`,
      resolve: ({ sequenceNumber }) => asInt(sequenceNumber),
    }),
    accumulatedText: t.string({
      nullable: true,
      description: recorded(EVENT_DATA_TEXTS.accumulatedText),
      args: excerptArguments,
      resolve: ({ accumulatedText: text }, args) => (text == null ? null : excerptOf(text, args)),
    }),
    deltaType: t.field({
      type: DeltaTypeEnum,
      nullable: true,
      description: `${EVENT_DATA_TEXTS.deltaType} ${NULL_IF_UNKNOWN}`,
      resolve: ({ deltaType }) => known(DELTA_TYPES, deltaType),
    }),
    responsePhase: t.field({
      type: ResponsePhaseEnum,
      nullable: true,
      description: `${EVENT_DATA_TEXTS.responsePhase} ${NULL_IF_UNKNOWN}`,
      resolve: ({ responsePhase }) => known(RESPONSE_PHASES, responsePhase),
    }),
  };
}

/** Fields about tool calls and snapshots. */
function toolFields(t: Fields) {
  return {
    toolName: t.exposeString('toolName', {
      nullable: true,
      description: recorded(EVENT_DATA_TEXTS.toolName),
    }),
    toolResult: t.expose('toolResult', {
      type: ToolResultType,
      nullable: true,
      description: recorded(EVENT_DATA_TEXTS.toolResult),
    }),
    snapshotId: t.exposeString('snapshotId', {
      nullable: true,
      description: recorded(EVENT_DATA_TEXTS.snapshotId),
    }),
    snapshotCreatedAt: t.exposeString('snapshotCreatedAt', {
      nullable: true,
      description: recorded(EVENT_DATA_TEXTS.snapshotCreatedAt),
    }),
  };
}

export const EventDataType = builder.objectRef<EventData>('SessionEventData').implement({
  description: 'The documented fields of the data of an event. Other fields are in `eventDataJson`.',
  fields: (t) => ({ ...originFields(t), ...contentFields(t), ...toolFields(t) }),
});
