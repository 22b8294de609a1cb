import { expect, test } from 'vitest';
import { indexSessions } from '../../../src/domains/session-events/search-index.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();

/** What all readers say of an event whose word they find: whether it is a message, whether a call has ended, and whether it failed. */
interface Meaning {
  readonly messages: number;
  readonly endedCalls: number;
  readonly hasFailed: boolean;
}

const MESSAGE: Meaning = { messages: 1, endedCalls: 0, hasFailed: false };
const ENDED: Meaning = { messages: 0, endedCalls: 1, hasFailed: false };
const OPEN: Meaning = { messages: 0, endedCalls: 0, hasFailed: false };

const EVENTS: readonly (readonly [string, object, Meaning])[] = [
  [
    'a part of a message whose event is retry_failed',
    {
      type: 'delta',
      deltaType: 'text_delta',
      source: 'assistant',
      itemId: 'a',
      accumulatedText: 'needle',
      event: { event: 'retry_failed', message: '{}' },
    },
    MESSAGE,
  ],
  [
    'thinking',
    { type: 'x', responsePhase: 'commentary', source: 'assistant', itemId: 'b', accumulatedText: 'needle' },
    { ...MESSAGE, messages: 0 },
  ],
  [
    'a completed call whose event is PostToolUseFailure',
    {
      type: 'hook',
      toolName: 'Bash',
      itemId: 'c',
      toolResult: { status: 'completed', output: 'needle' },
      event: { event: 'PostToolUseFailure', message: '{}' },
    },
    ENDED,
  ],
  [
    'a text of a person whose event is api_error',
    {
      type: 'x',
      source: 'user',
      itemId: 'd',
      accumulatedText: 'needle',
      event: { event: 'api_error', message: '{}' },
    },
    MESSAGE,
  ],
  [
    'the input of a call with a status that a provider has added',
    {
      type: 'x',
      source: 'assistant',
      itemId: 'e',
      toolName: 'Bash',
      accumulatedText: 'find needle',
      toolResult: { status: 'in_progress' },
    },
    OPEN,
  ],
  [
    'a call that has ended with an exit code',
    { type: 'x', toolName: 'Bash', itemId: 'f', toolResult: { status: 'completed', output: 'needle', exitCode: 2 } },
    { ...ENDED, hasFailed: true },
  ],
  [
    'a call that has failed',
    { type: 'x', toolName: 'Bash', itemId: 'g', toolResult: { status: 'error', error: 'needle' } },
    { ...ENDED, hasFailed: true },
  ],
  ['an error of a provider', { type: 'api_error', accumulatedText: 'needle' }, { ...OPEN, hasFailed: true }],
];

const OUTLINE = `query($id: ID!) {
  session(id: $id) { usage { toolCalls toolErrors } wholeOutline { marks { messages toolCalls failures } } }
  sessionEvents(sessionId: $id, filter: { isError: true }) { totalCount }
}`;

interface Read {
  readonly session: {
    readonly usage: { readonly toolCalls: number | null; readonly toolErrors: number | null };
    readonly wholeOutline: {
      readonly marks: readonly { readonly messages: number; readonly toolCalls: number; readonly failures: number }[];
    };
  };
  readonly sessionEvents: { readonly totalCount: number };
}

test.each(EVENTS)(
  '%s is the same in outline, totals, filter, search, Markdown and entries',
  async (_, data, meaning) => {
    const { key } = await gateway.createKey();
    const id = await createSession(gateway, key, { title: 'one event' });
    await append(gateway, key, id, [{ eventType: 'x', provider: 'p', eventData: data }]);
    while ((await indexSessions(gateway.dependencies.database.em.fork())) > 0);

    const { data: read } = await gateway.graphql<Read>(key, OUTLINE, { id });
    const { messages, endedCalls, hasFailed } = meaning;
    const failures = hasFailed ? 1 : 0;
    expect(read?.session.wholeOutline.marks).toEqual([{ messages, toolCalls: endedCalls, failures }]);
    expect(read?.sessionEvents.totalCount).toBe(failures);
    expect(read?.session.usage).toEqual(
      endedCalls === 0 ? { toolCalls: null, toolErrors: null } : { toolCalls: 1, toolErrors: failures },
    );

    const search = await gateway.rest<{ items: readonly object[] }>('GET', '/v1/session-search?text=needle', { key });
    expect(search.body.items).toHaveLength(1);

    const markdown = await gateway.fetch(`/v1/sessions/${id}/export?format=markdown`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    const text = await markdown.text();
    expect(text.includes('Result')).toBe(endedCalls === 1);
    expect(text.includes('an error')).toBe(hasFailed && endedCalls === 1);

    const { body } = await gateway.rest<{ items: { kind: string; isOpen: boolean; isFailed: boolean }[] }>(
      'GET',
      `/v1/sessions/${id}/entries`,
      { key },
    );
    const [entry] = body.items;
    expect({
      isMessage: entry?.kind.endsWith('Message'),
      hasEnded: entry?.kind === 'toolCall' && !entry.isOpen,
      isFailed: entry?.isFailed,
    }).toEqual({ isMessage: messages === 1, hasEnded: endedCalls === 1, isFailed: hasFailed });
  },
);
