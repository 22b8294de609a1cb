import { describe, expect, test } from 'vitest';
import { type TimelineEvent, withEvents } from '../../src/console/timeline.ts';

const NOTHING: TimelineEvent['eventData'] = {
  type: 'stream_event',
  deltaType: null,
  responsePhase: null,
  accumulatedText: null,
  itemId: null,
  index: null,
  toolName: null,
  scope: { kind: 'FOREGROUND' },
  toolResult: null,
  event: null,
};

function event(databaseId: number, data: Partial<TimelineEvent['eventData']>): TimelineEvent {
  return {
    databaseId,
    createdAt: '2026-03-01T09:00:00.000Z',
    eventType: 'stream_event',
    messageId: null,
    eventData: { ...NOTHING, ...data },
  };
}

const provider = (name: string, delta?: unknown) => ({
  event: name,
  message: JSON.stringify({ type: name, ...(delta !== undefined && { delta }) }),
});
const textDelta = (id: number, delta: unknown, itemId = 'item') =>
  event(id, { deltaType: 'TEXT_DELTA', itemId, event: provider('content_block_delta', delta) });
const result = (id: number, status: 'RUNNING' | 'COMPLETED' | 'ERROR', output: string) =>
  event(id, {
    type: 'tool_result',
    itemId: 'call',
    toolName: 'Bash',
    toolResult: { status, output, error: null, exitCode: 1 },
  });

describe('the timeline of a session', () => {
  test('deltas of one item become one message, either from their text or from the accumulated text', () => {
    const items = withEvents([], [textDelta(1, 'Hel'), textDelta(2, { text: 'lo' })]);
    expect(items).toMatchObject([{ kind: 'message', id: 1, lastId: 2, text: 'Hello' }]);
    const accumulated = event(3, { deltaType: 'TEXT_DELTA', itemId: 'item', accumulatedText: 'Hello there' });
    expect(withEvents(items, [accumulated])).toMatchObject([{ id: 1, lastId: 3, text: 'Hello there' }]);
  });

  test('a tool call is one item with its input and its last result', () => {
    const input = event(1, {
      deltaType: 'INPUT_JSON_DELTA',
      itemId: 'call',
      toolName: 'Bash',
      accumulatedText: '{"command":"ls"}',
    });
    const items = withEvents([], [input, result(2, 'RUNNING', ''), result(3, 'ERROR', 'no such file')]);
    expect(items).toMatchObject([
      {
        kind: 'tool',
        id: 1,
        lastId: 3,
        name: 'Bash',
        input: '{"command":"ls"}',
        status: 'ERROR',
        output: 'no such file',
      },
    ]);
  });

  test('events that only begin or end a message are left out, other events are notes, and errors are marked', () => {
    const events = [
      event(1, { event: provider('message_start') }),
      event(2, { type: 'snapshot' }),
      event(3, { type: 'runner_error' }),
      event(4, { event: provider('message_stop') }),
    ];
    expect(withEvents([], events)).toMatchObject([
      { kind: 'note', id: 2, label: 'snapshot', isError: false },
      { kind: 'note', id: 3, label: 'runner error', isError: true },
    ]);
  });

  test('an item that does not change stays the same object, so that it is not rendered again', () => {
    const before = withEvents([], [textDelta(1, 'one', 'a'), textDelta(2, 'two', 'b')]);
    const after = withEvents(before, [textDelta(3, '!', 'b')]);
    expect(after[0]).toBe(before[0]);
    expect(after[1]).toMatchObject({ id: 2, lastId: 3, text: 'two!' });
  });
});
