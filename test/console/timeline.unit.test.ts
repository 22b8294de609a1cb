import { describe, expect, test } from 'vitest';
import type { TimelineEvent } from '../../src/console/sessions/event-content.ts';
import { failureIn } from '../../src/console/sessions/session-failure.ts';
import { withEvents } from '../../src/console/sessions/timeline.ts';

type Data = Readonly<Record<string, unknown>>;

function event(databaseId: number, data: unknown, eventType = 'stream_event'): TimelineEvent {
  return { databaseId, createdAt: '2026-03-01T09:00:00.000Z', eventType, messageId: null, eventDataJson: data };
}

const provider = (name: string, delta?: unknown) => ({
  event: name,
  message: JSON.stringify({ type: name, ...(delta !== undefined && { delta }) }),
});
const textDelta = (id: number, delta: unknown, itemId = 'item') =>
  event(id, { type: 'x', deltaType: 'text_delta', itemId, event: provider('content_block_delta', delta) });
const result = (id: number, toolResult: Data) =>
  event(id, { type: 'tool_result', itemId: 'call', toolName: 'Bash', toolResult });
const texts = (...events: readonly TimelineEvent[]) =>
  withEvents([], events).map((item) => (item.kind === 'tool' ? item.output : item.text));

describe('the timeline of a session', () => {
  test('deltas of one item become one message, either from their text or from the accumulated text', () => {
    const items = withEvents([], [textDelta(1, 'Hel'), textDelta(2, { text: 'lo' })]);
    expect(items).toMatchObject([{ kind: 'message', id: 1, lastId: 2, text: 'Hello' }]);
    const accumulated = event(3, { deltaType: 'text_delta', itemId: 'item', accumulatedText: 'Hello there' });
    expect(withEvents(items, [accumulated])).toMatchObject([{ id: 1, lastId: 3, text: 'Hello there' }]);
  });

  test('texts without an item are joined only if one continues the other', () => {
    const said = (id: number, accumulatedText: string, source = 'assistant') =>
      event(id, { deltaType: 'text_delta', accumulatedText, source });
    expect(texts(said(1, 'One'), said(2, 'One, two'), said(3, 'Three'), said(4, 'Three', 'user'))).toEqual([
      'One, two',
      'Three',
      'Three',
    ]);
    const unnamed = (id: number, delta: string) =>
      event(id, { deltaType: 'text_delta', event: provider('delta', delta) });
    expect(texts(unnamed(1, 'a'), unnamed(2, 'b'))).toEqual(['ab']);
  });

  test('a tool call is one item with its input and its last result', () => {
    const input = event(1, {
      deltaType: 'input_json_delta',
      itemId: 'call',
      toolName: 'Bash',
      accumulatedText: '{"command":"ls"}',
    });
    const failed = result(3, { status: 'error', output: 'no such file', error: 'code 1', exitCode: 1 });
    expect(withEvents([], [input, result(2, { status: 'running' }), failed])).toMatchObject([
      {
        kind: 'tool',
        id: 1,
        lastId: 3,
        speaker: 'Tool',
        name: 'Bash',
        input: '{"command":"ls"}',
        status: 'error',
        output: 'no such file',
        isError: true,
      },
    ]);
  });

  test('events that only begin or end a message are left out, other events are notes, and errors are marked', () => {
    const events = [
      event(1, { type: 'stream_event', event: provider('message_start') }),
      event(2, { type: 'snapshot' }),
      event(3, { type: 'runner_error', message: 'The disk is full.' }),
      event(4, { type: 'stream_event', event: provider('message_stop') }),
    ];
    expect(withEvents([], events)).toMatchObject([
      { kind: 'note', id: 2, label: 'snapshot', text: '', isError: false },
      { kind: 'note', id: 3, label: 'runner error', text: 'The disk is full.', isError: true },
    ]);
  });

  test('every event with a text shows it, whatever its type', () => {
    expect(
      texts(
        event(1, { type: 'anything', accumulatedText: 'accumulated' }),
        event(2, { type: 'message_start', event: { event: 'message_start', message: 'of the provider' } }),
        event(3, { type: 'other', toolResult: { status: 'odd', output: 'output' } }),
        event(4, { type: 'other', error: { message: 'inside' } }),
        event(5, { type: 'other', event: { event: 'x', message: '{"content":[{"text":"in JSON"}]}' } }),
      ),
    ).toEqual(['accumulated', 'of the provider', 'output', 'inside', 'in JSON']);
  });

  test('who speaks: user, agent, subagent, background task, system, runner and others', () => {
    const by = (id: number, source: string | undefined, kind: string) =>
      event(id, { deltaType: 'text_delta', itemId: String(id), accumulatedText: 'x', source, scope: { kind } });
    const items = withEvents(
      [],
      [
        by(1, 'user', 'foreground'),
        by(2, 'assistant', 'foreground'),
        by(3, 'assistant', 'subagent'),
        by(4, 'agent', 'background'),
        by(5, 'system', 'foreground'),
        by(6, 'constructor', 'foreground'),
        by(7, undefined, 'foreground'),
      ],
    );
    expect(items.map(({ speaker }) => speaker)).toEqual([
      'User',
      'Agent',
      'Subagent',
      'Background task',
      'System',
      'constructor',
      'Agent',
    ]);
  });

  test('an event with data of any shape is one row and hides no other', () => {
    const odd = [null, 7, 'x', [], {}, { type: 9, scope: 'x', event: [], toolName: {}, accumulatedText: 1 }];
    const events = odd.map((data, index) => event(index + 1, data, 'odd'));
    const items = withEvents([], [...events, textDelta(99, 'fine')]);
    expect(items.map(({ id, kind }) => [id, kind])).toEqual([
      ...odd.map((_, index) => [index + 1, 'note']),
      [99, 'message'],
    ]);
    expect(withEvents([], [event(1, { toolResult: { status: 1, output: {}, exitCode: 'x' } })])).toMatchObject([
      { kind: 'tool', name: 'Tool', status: null, output: '', exitCode: null },
    ]);
  });

  test('the reason of a failure is the last error, in one line', () => {
    const items = withEvents(
      [],
      [
        event(1, { type: 'error', accumulatedText: 'first' }),
        result(2, { status: 'error', output: 'long', error: 'code 2\nmore' }),
        event(3, { deltaType: 'text_delta', itemId: 'a', accumulatedText: 'I give up.' }),
      ],
    );
    expect(failureIn(items)).toEqual({ id: 2, text: 'Bash: code 2' });
    expect(failureIn(items.slice(0, 1))).toEqual({ id: 1, text: 'first' });
    expect(failureIn(items.slice(2))).toBeUndefined();
  });

  test('an item that does not change stays the same object, so that it is not rendered again', () => {
    const before = withEvents([], [textDelta(1, 'one', 'a'), textDelta(2, 'two', 'b')]);
    const after = withEvents(before, [textDelta(3, '!', 'b')]);
    expect(after[0]).toBe(before[0]);
    expect(after[1]).toMatchObject({ id: 2, lastId: 3, text: 'two!' });
  });
});
