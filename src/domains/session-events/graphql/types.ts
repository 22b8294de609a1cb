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

/** The value of an enumeration; null for one that a provider has added, which `eventDataJson` has. */
function known<Value extends string>(values: readonly Value[], value: string | null | undefined): Value | null {
  return values.find((each) => each === value) ?? null;
}
const UNLESS_KNOWN = 'Null for a value that is none of these; `eventDataJson` has it.';

export const ScopeKindEnum = builder.enumType('EventScopeKind', {
  description: 'Who acts.',
  values: {
    FOREGROUND: { value: 'foreground', description: 'The agent itself.' },
    SUBAGENT: { value: 'subagent', description: 'An agent that the agent has started.' },
    BACKGROUND: { value: 'background', description: 'A task in the background.' },
  },
} as const);

export const DeliveryEnum = builder.enumType('EventDelivery', {
  description: 'How an event was delivered.',
  values: {
    REALTIME: { value: 'realtime', description: 'While it happened.' },
    PERSIST: { value: 'persist', description: 'To be stored.' },
  },
} as const);

const DeltaTypeEnum = builder.enumType('EventDeltaType', {
  description: 'What a delta adds to.',
  values: {
    TEXT_DELTA: { value: 'text_delta', description: 'Text.' },
    INPUT_JSON_DELTA: { value: 'input_json_delta', description: 'The input of a tool.' },
  },
} as const);

const ResponsePhaseEnum = builder.enumType('EventResponsePhase', {
  description: 'Which part of a response it belongs to.',
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
  description: 'Who acts, and within what.',
  fields: (t) => ({
    kind: t.field({
      type: ScopeKindEnum,
      nullable: true,
      description: `Who acts. ${UNLESS_KNOWN}`,
      resolve: ({ kind }) => known(SCOPE_KINDS, kind),
    }),
    parentToolUseId: t.exposeString('parentToolUseId', {
      nullable: true,
      description: 'The tool call that started it.',
    }),
    taskId: t.exposeString('taskId', { nullable: true, description: 'The task it belongs to.' }),
  }),
});

const ProviderEventType = builder.objectRef<Part<'event'>>('ProviderEvent').implement({
  description: "The model provider's own event.",
  fields: (t) => ({
    event: t.exposeString('event', { description: 'Its name.' }),
    message: t.exposeString('message', { description: 'Its text.' }),
    provider: t.exposeString('provider', { nullable: true, description: 'Who sent it.' }),
    messageId: t.exposeString('messageId', { nullable: true, description: 'The message it belongs to.' }),
  }),
});

const ToolResultType = builder.objectRef<Part<'toolResult'>>('ToolResult').implement({
  description: 'The result of a tool call.',
  fields: (t) => ({
    status: t.field({
      type: ToolStatusEnum,
      nullable: true,
      description: `The state of the tool call. ${UNLESS_KNOWN}`,
      resolve: ({ status }) => known(TOOL_RESULT_STATUSES, status),
    }),
    output: t.exposeString('output', { nullable: true, description: 'What it printed.' }),
    exitCode: t.exposeInt('exitCode', { nullable: true, description: 'Exit code of the command.' }),
    error: t.exposeString('error', { nullable: true, description: 'Why it failed.' }),
  }),
});

export const EventDataType = builder.objectRef<EventData>('SessionEventData').implement({
  description: 'What happened, in the documented fields; `eventDataJson` has the others, too.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'What kind of data it is.' }),
    scope: t.expose('scope', { type: ScopeType, nullable: true, description: 'Who acts.' }),
    source: t.exposeString('source', { nullable: true, description: 'Where it comes from.' }),
    providerEvent: t.exposeBoolean('providerEvent', {
      nullable: true,
      description: 'Whether the model provider sent it.',
    }),
    delivery: t.field({
      type: DeliveryEnum,
      nullable: true,
      description: `How it was delivered. ${UNLESS_KNOWN}`,
      resolve: ({ delivery }) => known(DELIVERIES, delivery),
    }),
    event: t.expose('event', { type: ProviderEventType, nullable: true, description: "The provider's own event." }),
    index: t.exposeInt('index', { nullable: true, description: 'Place of the block in the message.' }),
    itemId: t.exposeString('itemId', { nullable: true, description: 'The item it belongs to.' }),
    sequenceNumber: t.exposeInt('sequenceNumber', { nullable: true, description: 'Its number in the message.' }),
    accumulatedText: t.exposeString('accumulatedText', {
      nullable: true,
      description: 'All text of the block so far.',
    }),
    deltaType: t.field({
      type: DeltaTypeEnum,
      nullable: true,
      description: `What a delta adds to. ${UNLESS_KNOWN}`,
      resolve: ({ deltaType }) => known(DELTA_TYPES, deltaType),
    }),
    responsePhase: t.field({
      type: ResponsePhaseEnum,
      nullable: true,
      description: `Which part of the response it belongs to. ${UNLESS_KNOWN}`,
      resolve: ({ responsePhase }) => known(RESPONSE_PHASES, responsePhase),
    }),
    toolName: t.exposeString('toolName', { nullable: true, description: 'The tool that is called.' }),
    toolResult: t.expose('toolResult', {
      type: ToolResultType,
      nullable: true,
      description: 'The result of the tool call.',
    }),
    snapshotId: t.exposeString('snapshotId', { nullable: true, description: 'The snapshot that was taken.' }),
    snapshotCreatedAt: t.exposeString('snapshotCreatedAt', {
      nullable: true,
      description: 'When it was taken, as recorded.',
    }),
  }),
});
