import type { FieldsOf } from '../../../core/graphql/nodes.ts';
import type { EnumRef } from '@pothos/core';
import { type SchemaTypes, builder } from '../../../core/graphql/builder.ts';
import { excerptArguments, excerptOf } from '../../../core/graphql/excerpts.ts';
import { enumOf } from '../../../core/graphql/enums.ts';
import { exposedWith, nullable } from '../../../core/graphql/fields.ts';
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
type Text = string | null | undefined;

const NULL = 'Null when it was not recorded';

/** The texts of fields that are null when they were not recorded. */
function recorded<Texts extends Readonly<Record<string, string>>>(texts: Texts): Texts {
  // The names stay.
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, `${text} ${NULL}.`])) as Texts;
}
const DATA_TEXTS = recorded(EVENT_DATA_TEXTS);

/** An enumeration; null for an unknown value, which is available in `eventDataJson`. */
function known<Row extends object, Value extends string>(
  t: FieldsOf<Row>,
  text: string,
  [type, values]: readonly [EnumRef<PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>, Value>, readonly Value[]],
  valueOf: (row: Row) => Text,
) {
  return t.field({
    type,
    nullable: true,
    description: `${text} ${NULL}, or has another value, which is in \`eventDataJson\`.`,
    // The types of the builder cannot infer that this is a value.
    resolve: (row) => (values.find((each) => each === valueOf(row)) ?? null) as never,
  });
}

/** A recorded integer, which can have 64 bits, as the Int of GraphQL. */
const integer = <Row extends object>(t: FieldsOf<Row>, text: string, valueOf: (row: Row) => unknown) =>
  t.int({
    nullable: true,
    description: `${text} ${NULL}, or has more than 32 bits; then it is in \`eventDataJson\`.`,
    resolve: (row) => int32(valueOf(row)),
  });

/** What an `Int` can have. */
export const int32 = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && Math.abs(value + 0.5) < 2 ** 31 ? value : null;

/** A text that can be long. */
const excerpt = <Row extends object>(t: FieldsOf<Row>, description: string, textOf: (row: Row) => Text) =>
  t.string({
    nullable: true,
    description,
    args: excerptArguments,
    resolve: (row, args) => {
      const text = textOf(row);
      return text == null ? null : excerptOf(text, args);
    },
  });

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
    kind: known(t, SCOPE_TEXTS.kind, [ScopeKindEnum, SCOPE_KINDS], ({ kind }) => kind),
    ...exposedWith(t, recorded(SCOPE_TEXTS), { parentToolUseId: nullable('String'), taskId: nullable('String') }),
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
    ...exposedWith(t, recorded(PROVIDER_EVENT_TEXTS), { provider: nullable('String'), messageId: nullable('String') }),
  }),
});

const RESULT_TEXTS = recorded(TOOL_RESULT_TEXTS);
const ToolResultType = builder.objectRef<Part<'toolResult'>>('ToolResult').implement({
  description: 'The result of a tool call.',
  fields: (t) => ({
    status: known(t, TOOL_RESULT_TEXTS.status, [ToolStatusEnum, TOOL_RESULT_STATUSES], ({ status }) => status),
    output: excerpt(t, RESULT_TEXTS.output, ({ output }) => output),
    exitCode: integer(t, TOOL_RESULT_TEXTS.exitCode, ({ exitCode }) => exitCode),
    error: excerpt(t, RESULT_TEXTS.error, ({ error }) => error),
  }),
});

export const EventDataType = builder.objectRef<EventData>('SessionEventData').implement({
  description: 'The documented fields of the data of an event. Other fields are in `eventDataJson`.',
  fields: (t) => ({
    type: t.exposeString('type', { description: EVENT_DATA_TEXTS.type }),
    ...exposedWith(t, DATA_TEXTS, {
      scope: nullable(ScopeType),
      source: nullable('String'),
      providerEvent: nullable('Boolean'),
      event: nullable(ProviderEventType),
      itemId: nullable('String'),
      toolName: nullable('String'),
      toolResult: nullable(ToolResultType),
      snapshotId: nullable('String'),
      snapshotCreatedAt: nullable('String'),
    }),
    delivery: known(t, EVENT_DATA_TEXTS.delivery, [DeliveryEnum, DELIVERIES], ({ delivery }) => delivery),
    deltaType: known(t, EVENT_DATA_TEXTS.deltaType, [DeltaTypeEnum, DELTA_TYPES], ({ deltaType }) => deltaType),
    responsePhase: known(
      t,
      EVENT_DATA_TEXTS.responsePhase,
      [ResponsePhaseEnum, RESPONSE_PHASES],
      ({ responsePhase }) => responsePhase,
    ),
    index: integer(t, EVENT_DATA_TEXTS.index, ({ index }) => index),
    sequenceNumber: integer(t, EVENT_DATA_TEXTS.sequenceNumber, ({ sequenceNumber }) => sequenceNumber),
    accumulatedText: excerpt(t, DATA_TEXTS.accumulatedText, ({ accumulatedText }) => accumulatedText),
    delta: excerpt(t, DATA_TEXTS.delta, ({ delta }) => (typeof delta === 'string' ? delta : null)),
  }),
});
