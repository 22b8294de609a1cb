import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { eventStream, writeEvent } from '../../../src/core/http/server-sent-events.ts';

test('an event has the fields that are given, and its data is one line', () => {
  expect(writeEvent({ data: '1' })).toBe('data: 1\n\n');
  expect(writeEvent({ id: 0, event: 'next', data: '{\r\n"a":\n1}' })).toBe('event: next\nid: 0\ndata: { "a": 1}\n\n');
  expect(writeEvent({ id: '', data: '1' })).toBe('id: \ndata: 1\n\n');
});

describe('a stream of events', () => {
  let canceled = 0;
  beforeEach(() => {
    canceled = 0;
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A stream of the parts, and then of what `ending` gives. */
  function open(parts: readonly string[], ending: () => Promise<IteratorResult<string, unknown>>) {
    const left = [...parts];
    const next = async () => {
      const value = left.shift();
      return value === undefined ? ending() : { done: false, value };
    };
    const reader = eventStream({ next }, () => {
      canceled += 1;
    }).getReader();
    const read = async () => {
      const { value } = await reader.read();
      return value && Buffer.from(value).toString();
    };
    return { read, cancel: () => reader.cancel() };
  }
  const done = async () => ({ done: true, value: undefined }) as const;

  test('begins with a comment, and ends with its source', async () => {
    const { read } = open(['a', 'b'], done);
    expect([await read(), await read(), await read(), await read()]).toEqual([': connected\n\n', 'a', 'b', undefined]);
    expect([canceled, vi.getTimerCount()]).toEqual([0, 0]);
  });

  test('fails with its source', async () => {
    const { read } = open(['a'], async () => {
      throw new Error('broken');
    });
    expect([await read(), await read()]).toEqual([': connected\n\n', 'a']);
    await expect(read()).rejects.toThrow('broken');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('sends a comment every 8 seconds while its reader waits, and only then', async () => {
    const { promise, resolve } = Promise.withResolvers<IteratorResult<string, unknown>>();
    const { read, cancel } = open([], () => promise);
    expect(await read()).toBe(': connected\n\n');
    const waiting = read();
    await vi.advanceTimersByTimeAsync(7_999);
    const first = vi.fn<(text: string | undefined) => void>();
    void waiting.then(first);
    await vi.advanceTimersByTimeAsync(0);
    expect(first).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(await waiting).toBe(': ping\n\n');
    // Nobody waits now, so further comments do not accumulate.
    await vi.advanceTimersByTimeAsync(80_000);
    resolve({ done: false, value: 'a' });
    expect([await read(), await read()]).toEqual([': ping\n\n', 'a']);
    await cancel();
    expect([canceled, vi.getTimerCount()]).toEqual([1, 0]);
  });

  test('that is canceled before its next part is read leaves no timer', async () => {
    const { read, cancel } = open(['a', 'b'], done);
    expect(await read()).toBe(': connected\n\n');
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(1);
    await cancel();
    expect([canceled, vi.getTimerCount()]).toEqual([1, 0]);
  });

  test('that was never read leaves no timer, and ends its source when it is canceled', async () => {
    const { cancel } = open(['a'], done);
    await cancel();
    expect([canceled, vi.getTimerCount()]).toEqual([1, 0]);
  });
});
