import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DomainError } from '../../../../src/core/errors.ts';
import { LARGE_BYTES, LargeAnswers } from '../../../../src/core/postgres/large-answers.ts';
import { Postponed, RequestBudget, TooLong } from '../../../../src/core/postgres/reading/request-budget.ts';

const TOO_LARGE = 'ANSWER_TOO_LARGE';
const tooLarge = expect.objectContaining({ code: TOO_LARGE });

describe('large answers', () => {
  test('are produced one at a time and in order', async () => {
    const large = new LargeAnswers();
    const order: string[] = [];
    const end = await large.take();
    const others = ['second', 'third'].map(async (name) => {
      const endOther = await large.take();
      order.push(`${name} begins`);
      await setImmediate();
      order.push(`${name} ends`);
      endOther(0);
    });
    expect(large.tryTake()).toBeUndefined();
    order.push('first ends');
    end(0);
    // Has no effect any more.
    end(0);
    await Promise.all(others);
    expect(order).toEqual(['first ends', 'second begins', 'second ends', 'third begins', 'third ends']);
    await setImmediate();
    expect(large.tryTake()).toBeInstanceOf(Function);
  });

  describe('that wait', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    });
    afterEach(() => {
      vi.useRealTimers();
    });

    test('are refused after 5 seconds, and the others keep their order', async () => {
      const large = new LargeAnswers();
      const end = await large.take();
      const refused = large.take().catch((error: unknown) => error);
      vi.advanceTimersByTime(4_999);
      const next = large.take();
      const last = large.take();
      vi.advanceTimersByTime(1);
      expect(await refused).toMatchObject({
        kind: 'unavailable',
        message: 'too many large answers are being produced; try again, or request smaller ones',
        headers: { 'Retry-After': '1' },
      });
      end(0);
      (await next)(0);
      expect(await last).toBeInstanceOf(Function);
      expect(vi.getTimerCount()).toBe(0);
    });

    test('can be requested again after they were refused', async () => {
      const large = new LargeAnswers();
      const end = await large.take();
      const budget = new RequestBudget(10, large);
      const refused = budget.becomeLarge().catch((error: unknown) => error);
      vi.advanceTimersByTime(5_000);
      expect(await refused).toMatchObject({ kind: 'unavailable' });
      end(0);
      await budget.becomeLarge();
    });

    test('wait once for each execution of a request, also when an earlier execution is refused', async () => {
      const large = new LargeAnswers();
      const end = await large.take();
      const budget = new RequestBudget(10, large);
      const refused = budget.becomeLarge().catch((error: unknown) => error);
      vi.advanceTimersByTime(1_000);
      budget.restart();
      const first = budget.becomeLarge();
      vi.advanceTimersByTime(4_000);
      expect(await refused).toMatchObject({ kind: 'unavailable' });
      const second = budget.becomeLarge();
      end(0);
      await Promise.all([first, second]);
    });
  });
});

describe('the bytes of a request', () => {
  let large: LargeAnswers;
  beforeEach(() => {
    large = new LargeAnswers();
  });
  const budgetOf = (maxBytes: number) => new RequestBudget(maxBytes, large);
  /** Counts a row of so many bytes. */
  function reading(budget: RequestBudget, options: { isRepeatable?: boolean; maxBytes?: number } = {}) {
    const onExceeded = vi.fn<() => void>();
    return { read: budget.counting(onExceeded, { isRepeatable: true, ...options }), onExceeded };
  }

  test('are limited for all its statements together, and can be counted from the beginning again', () => {
    const budget = budgetOf(10);
    budget.take(10);
    expect(() => budget.take(1)).toThrow(tooLarge);
    budget.renew();
    budget.take(5);
    reading(budget).read(5);
    const { read, onExceeded } = reading(budget);
    expect(() => read(1)).toThrow(tooLarge);
    expect(onExceeded).toHaveBeenCalledOnce();
    // They stay used up.
    expect(() => budget.take(0)).toThrow(tooLarge);
  });

  test('of a statement from before a renewal are not counted, and it is not read further', () => {
    const budget = budgetOf(10);
    const earlier = reading(budget);
    earlier.read(3);
    budget.renew();
    expect(() => earlier.read(3)).toThrow(tooLarge);
    expect(earlier.onExceeded).toHaveBeenCalledOnce();
    budget.take(10);
    expect(() => budget.take(1)).toThrow(tooLarge);
  });

  test('are not read beyond the limit of one statement, whose bytes do not count', () => {
    const budget = budgetOf(10);
    const { read, onExceeded } = reading(budget, { maxBytes: 4 });
    read(3);
    read(1);
    expect(() => read(1)).toThrow(TooLong);
    expect(onExceeded).toHaveBeenCalledOnce();
    budget.take(10);
    budget.renew();
    budget.take(10);
    expect(() => read(1)).toThrow(TooLong);
    expect(() => budget.take(1)).toThrow(tooLarge);
  });

  test('make its answer large from 1 MiB, which waits for other large answers', () => {
    const budget = budgetOf(4 * LARGE_BYTES);
    const first = reading(budget);
    first.read(LARGE_BYTES);
    expect(large.tryTake()).toBeInstanceOf(Function);
    expect(() => first.read(1)).toThrow(Postponed);
    expect(first.onExceeded).toHaveBeenCalledOnce();
    // The postponed statement is sent again, so its bytes do not count.
    budget.take(4 * LARGE_BYTES);
  });

  test('are read only while the process has room for them; then all statements of the request are refused', async () => {
    const refusal = new DomainError('unavailable', 'no room');
    const room = 2 * LARGE_BYTES;
    const budget = new RequestBudget(4 * LARGE_BYTES, large, (bytes) => (bytes > room ? refusal : undefined));
    const { read, onExceeded } = reading(budget);
    read(room);
    budget.requireRoom(room);
    expect(onExceeded).not.toHaveBeenCalled();
    expect(() => read(1)).toThrow(refusal);
    expect(onExceeded).toHaveBeenCalledOnce();
    // A later statement is not sent.
    budget.renew();
    const work = vi.fn<() => Promise<void>>();
    await expect(budget.run(work)).rejects.toBe(refusal);
    expect(work).not.toHaveBeenCalled();
    expect(() => budget.requireRoom(0)).toThrow(refusal);
  });

  test('of an answer without room are refused before it waits for other large answers', () => {
    const refusal = new DomainError('unavailable', 'no room');
    large.tryTake();
    const budget = new RequestBudget(4 * LARGE_BYTES, large, () => refusal);
    // As before the query is executed again.
    budget.restart();
    const { read } = reading(budget);
    read(LARGE_BYTES);
    expect(() => read(1)).toThrow(refusal);
  });

  test.each([
    ['a stream, which is renewed before each part', true],
    ['a statement that cannot be sent again', false],
  ])('of %s are read without room', (_, isRepeatable) => {
    const budget = new RequestBudget(4 * LARGE_BYTES, large, () => new DomainError('unavailable', 'no room'));
    if (isRepeatable) budget.renew();
    const { read } = reading(budget, { isRepeatable });
    expect(() => [2 * LARGE_BYTES, 1].forEach(read)).not.toThrow();
  });

  test('make a part of a stream large above 2 MiB', () => {
    const budget = budgetOf(4 * LARGE_BYTES);
    budget.renew();
    const { read } = reading(budget);
    read(2 * LARGE_BYTES);
    large.tryTake();
    expect(() => read(1)).toThrow(Postponed);
  });

  test('of a statement that cannot be sent again are read although another large answer is produced', () => {
    expect(large.tryTake()).toBeInstanceOf(Function);
    const { read } = reading(budgetOf(4 * LARGE_BYTES), { isRepeatable: false });
    expect(() => read(LARGE_BYTES + 1)).not.toThrow();
  });

  test('make it the only large answer until it is renewed or closed', async () => {
    for (const end of ['renew', 'close'] as const) {
      const budget = budgetOf(4 * LARGE_BYTES);
      const { read } = reading(budget);
      read(LARGE_BYTES + 1);
      read(1);
      expect(large.tryTake()).toBeUndefined();
      await budget.becomeLarge();
      budget[end]();
      await setImmediate();
      large.tryTake()?.(0);
      await setImmediate();
    }
    const budget = budgetOf(10);
    await Promise.all([budget.becomeLarge(), budget.becomeLarge()]);
    expect(large.tryTake()).toBeUndefined();
    budget.renew();
    await budget.becomeLarge();
    expect(large.tryTake()).toBeUndefined();
    budget.renew();
    await setImmediate();
    expect(large.tryTake()).toBeInstanceOf(Function);
  });

  test('of a repeated request wait anew for other large answers', async () => {
    const end = large.tryTake();
    const budget = budgetOf(10);
    const earlier = budget.becomeLarge();
    budget.restart();
    const later = budget.becomeLarge();
    end?.(0);
    await expect(earlier).rejects.toThrow(tooLarge);
    await later;
    expect(large.tryTake()).toBeUndefined();
  });

  test('of a request that was closed while it waited for another large answer start none', async () => {
    const end = large.tryTake();
    const budget = budgetOf(10);
    const waiting = budget.becomeLarge();
    budget.close();
    end?.(0);
    await expect(waiting).rejects.toThrow(tooLarge);
    await setImmediate();
    expect(large.tryTake()).toBeInstanceOf(Function);
  });
});

describe('the statements of a request', () => {
  const budgetOf = () => new RequestBudget(10, new LargeAnswers());

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
    expect(() => budget.take(11)).toThrow(tooLarge);
    await expect(budget.run(work)).rejects.toThrow(tooLarge);
    budget.renew();
    expect(await budget.run(work)).toBe('ran');
    budget.close();
    await expect(budget.run(work)).rejects.toThrow(tooLarge);
    expect(work).toHaveBeenCalledTimes(2);
  });
});
