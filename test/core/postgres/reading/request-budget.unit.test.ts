import { setImmediate } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { type PageEnd, RequestBudget } from '../../../../src/core/postgres/reading/request-budget.ts';

const tooLarge = expect.objectContaining({ code: 'ANSWER_TOO_LARGE' });

describe('the bytes of a request', () => {
  /** Counts a row of so many bytes. */
  function reading(budget: RequestBudget, page?: PageEnd) {
    const onExceeded = vi.fn<() => void>();
    return { read: budget.counting(onExceeded, page), onExceeded };
  }

  test('are limited for all its statements together, and can be counted from the beginning again', () => {
    const budget = new RequestBudget(10);
    budget.count(10);
    expect(() => budget.requireRoom()).not.toThrow();
    budget.count(1);
    expect(() => budget.requireRoom()).toThrow(tooLarge);
    budget.renew();
    budget.count(5);
    reading(budget).read(6);
    const { read, onExceeded } = reading(budget);
    expect(() => read(1)).toThrow(tooLarge);
    expect(onExceeded).toHaveBeenCalledOnce();
    // They stay used up.
    expect(() => budget.requireRoom()).toThrow(tooLarge);
  });

  test('of a row that is larger than an answer are read, up to twice as many, and nothing after it', () => {
    const budget = new RequestBudget(10);
    const { read } = reading(budget);
    expect(() => read(21)).toThrow(tooLarge);
    read(20);
    expect(() => read(1)).toThrow(tooLarge);
  });

  test('of a statement from before a renewal are not counted, and it is not read further', () => {
    const budget = new RequestBudget(10);
    const earlier = reading(budget);
    earlier.read(3);
    budget.renew();
    expect(() => earlier.read(3)).toThrow(tooLarge);
    expect(earlier.onExceeded).toHaveBeenCalledOnce();
    expect(budget.bytes).toBe(0);
  });

  test('end a page with the row that reaches its maximum; what was read counts', () => {
    const budget = new RequestBudget(10);
    const page = { maxBytes: budget.pageBytes, bytes: 0, isCut: false };
    const { read, onExceeded } = reading(budget, page);
    read(4);
    read(2);
    expect(page).toEqual({ maxBytes: 5, bytes: 6, isCut: false });
    expect(() => read(1)).toThrow(tooLarge);
    expect(onExceeded).toHaveBeenCalledOnce();
    expect(page).toEqual({ maxBytes: 5, bytes: 6, isCut: true });
    expect(budget.bytes).toBe(6);
  });

  test('do not leave a page without a row', () => {
    const budget = new RequestBudget(10);
    const page = { maxBytes: 5, bytes: 0, isCut: false };
    reading(budget, page).read(20);
    expect(page.isCut).toBe(false);
  });
});

describe('the statements of a request', () => {
  const budgetOf = () => new RequestBudget(10);

  test('run four at a time; the others start in order, whether an earlier one succeeds or fails', async () => {
    const budget = budgetOf();
    const started: number[] = [];
    const running = Array.from({ length: 7 }, (_, index) => {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const outcome = budget.run(() => {
        started.push(index);
        return promise;
      });
      return { outcome: outcome.catch(String), resolve, reject };
    });
    await setImmediate();
    expect(started).toEqual([0, 1, 2, 3]);
    running[2]?.resolve(2);
    await setImmediate();
    expect(started).toEqual([0, 1, 2, 3, 4]);
    running[0]?.reject(new Error('broken'));
    await setImmediate();
    expect(started).toEqual([0, 1, 2, 3, 4, 5]);
    for (const [index, { resolve }] of running.entries()) resolve(index);
    expect(await Promise.all(running.map(({ outcome }) => outcome))).toEqual(['Error: broken', 1, 2, 3, 4, 5, 6]);
    // All have ended, so four more start at once.
    const later = Array.from({ length: 5 }, (_, index) =>
      budget.run(async () => {
        started.push(10 + index);
        await setImmediate();
      }),
    );
    expect(started.slice(7)).toEqual([10, 11, 12, 13]);
    await Promise.all(later);
    expect(started.slice(7)).toEqual([10, 11, 12, 13, 14]);
  });

  test('do not start if the bytes are used up, or the request is answered', async () => {
    const work = vi.fn<() => Promise<string>>(async () => 'ran');
    const budget = budgetOf();
    expect(await budget.run(work)).toBe('ran');
    budget.count(11);
    await expect(budget.run(work)).rejects.toThrow(tooLarge);
    budget.renew();
    expect(await budget.run(work)).toBe('ran');
    budget.close();
    await expect(budget.run(work)).rejects.toThrow(tooLarge);
    expect(work).toHaveBeenCalledTimes(2);
  });
});
