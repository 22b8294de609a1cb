// Pools of slots: never more than their bounds, nobody waits while a slot is free for them, the lines of organizations and of their persons are
// served in turn, and every slot comes back.
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { AnswerShare, createAnswerMemory } from '../../src/core/answer-memory.ts';
import { DomainError, TooManyAtOnceError } from '../../src/core/errors.ts';
import { FairShares, type Owner, type Slot } from '../../src/core/fair-shares.ts';
import { RequestSlot } from '../../src/core/request-slot.ts';

afterEach(() => void vi.useRealTimers());

const WAIT_MS = 5_000;

function poolOf(slots: number) {
  const waits: { ms: number; isRefused: boolean }[] = [];
  const observer = {
    onWait: () => undefined,
    onWaited: (_: string, wait: (typeof waits)[number]) => void waits.push(wait),
  };
  return { pool: new FairShares({ name: 'tested', slots, waitMs: WAIT_MS, observer }), waits };
}

const owner = (person: string, organization: string, max = 100): Owner => ({
  kind: 'person',
  person,
  max,
  organization,
});

/** What has asked for a slot. */
class Asked {
  readonly owner: Owner;
  readonly abort = new AbortController();
  slot: Slot | undefined;
  refusal: unknown;

  constructor(pool: FairShares, whose: Owner) {
    this.owner = whose;
    const taken = pool.take(whose, { signal: this.abort.signal });
    if (taken instanceof Promise)
      taken.then(
        (slot) => (this.slot = slot),
        (error: unknown) => (this.refusal = error),
      );
    else this.slot = taken;
  }

  get waits(): boolean {
    return this.slot === undefined && this.refusal === undefined;
  }
}

/** Promises of a pool settle in this turn. */
const settle = () => new Promise<void>((resolve) => process.nextTick(resolve));

const PERSONS = [
  ['ann', 'acme', 3],
  ['ann', 'beta', 3],
  ['bob', 'acme', 2],
  ['cid', 'acme', 5],
  ['dan', 'beta', 1],
  ['eve', 'gamma', 4],
] as const;

/** A pool with everything that has asked for its slots. */
class Model {
  readonly pool: FairShares;
  readonly slots: number;
  readonly share: number;
  readonly all = new Set<Asked>();

  constructor(slots: number) {
    ({ pool: this.pool } = poolOf(slots));
    this.slots = slots;
    this.share = Math.max(1, Math.floor(slots / 4));
  }

  get running(): Asked[] {
    return [...this.all].filter(({ slot }) => slot !== undefined);
  }

  get waiting(): Asked[] {
    return [...this.all].filter(({ waits }) => waits);
  }

  runningOf(name: 'person' | 'organization', value: string): number {
    return this.running.filter((asked) => asked.owner[name] === value).length;
  }

  /** What waits although its person could have one more. */
  get able(): Asked[] {
    return this.waiting.filter(({ owner: { person, max } }) => this.runningOf('person', person) < max);
  }

  get isFull(): boolean {
    return this.running.length >= this.slots;
  }

  end(asked: Asked): void {
    asked.slot?.release();
    // A second call must change nothing.
    asked.slot?.release();
    this.all.delete(asked);
  }

  async act({ does, number }: Action): Promise<void> {
    if (does === 'asks') {
      const [person, organization, max] = PERSONS[number % PERSONS.length] ?? PERSONS[0];
      this.all.add(new Asked(this.pool, owner(person, organization, max)));
    } else {
      const of = does === 'ends' ? this.running : this.waiting;
      const chosen = of[number % of.length];
      if (does === 'ends' && chosen) this.end(chosen);
      else chosen?.abort.abort();
    }
    await settle();
    for (const asked of this.all) if (asked.refusal !== undefined) this.all.delete(asked);
  }

  /** What must not be after an action. */
  faults({ ran, waited, counts }: Before): string[] {
    const { running, able, isFull } = this;
    const tooMany = running.filter(({ owner: { person, max } }) => this.runningOf('person', person) > max);
    // Of organizations that have less than their share, and have waited already.
    const overtaken = able.filter(
      (asked) => waited.includes(asked) && this.runningOf('organization', asked.owner.organization) < this.share,
    );
    const begun = running.filter((asked) => waited.includes(asked) && !ran.includes(asked));
    const greedy = begun.filter(({ owner: { organization } }) => (counts.get(organization) ?? 0) > this.share);
    return [
      ...(running.length > this.slots ? ['more run than there are slots'] : []),
      ...tooMany.map(({ owner: { person } }) => `${person} has too many`),
      ...(isFull ? [] : able.map(({ owner: { person } }) => `${person} waits while a slot is free`)),
      ...(overtaken.length > 0
        ? greedy.map(({ owner: { organization } }) => `${organization} has more than its share`)
        : []),
    ];
  }

  get before(): Before {
    const counts = new Map(PERSONS.map(([, name]) => [name, this.runningOf('organization', name)]));
    return { ran: this.running, waited: this.waiting, counts };
  }
}

interface Before {
  readonly ran: readonly Asked[];
  readonly waited: readonly Asked[];
  readonly counts: ReadonlyMap<string, number>;
}

interface Action {
  readonly does: 'asks' | 'ends' | 'leaves';
  /** Chooses for whom. */
  readonly number: number;
}

const action: fc.Arbitrary<Action> = fc.record({
  does: fc.constantFrom('asks' as const, 'asks' as const, 'ends' as const, 'leaves' as const),
  number: fc.nat(1_000),
});

test('never more than the bounds; nobody waits for whom a slot is free; an organization that has its share waits for others; all slots come back', async () => {
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 9 }),
    fc.array(action, { maxLength: 60 }),
    async (slots, actions) => {
      const model = new Model(slots);
      const faults: string[] = [];
      for (const each of actions) {
        const { before } = model;
        await model.act(each);
        faults.push(...model.faults(before));
      }
      // Whatever still waits is served when what runs ends.
      for (let [asked] = model.running; asked; [asked] = model.running) {
        model.end(asked);
        await settle();
      }
      const again = Array.from({ length: slots + 1 }, () => model.pool.tryTake(owner('fay', 'delta')) !== undefined);
      expect({ faults, waiting: model.waiting, again }).toEqual({
        faults: [],
        waiting: [],
        again: [...Array.from({ length: slots }, () => true), false],
      });
    },
  );
  await fc.assert(property);
});

async function orderOf(held: Slot, waiting: readonly Asked[]): Promise<string[]> {
  const order: string[] = [];
  held.release();
  for (;;) {
    await settle();
    const next = waiting.find(({ slot }) => slot !== undefined && !order.includes(nameOf(slot)));
    if (!next?.slot) return order;
    order.push(nameOf(next.slot));
    next.slot.release();
  }
  function nameOf({ owner: { person } }: Slot): string {
    return person;
  }
}

test('organizations are served in turn, and so are the persons of one', async () => {
  const { pool } = poolOf(1);
  const held = pool.tryTake(owner('first', 'other'));
  if (!held) throw new Error('the pool is empty');
  const waiting = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1'].map((name) => new Asked(pool, owner(name, name.slice(0, 1))));
  expect(await orderOf(held, waiting)).toEqual(['a1', 'b1', 'c1', 'a2', 'a3', 'a4']);
});

test('what waits for too long is refused, and counted; then its slot is free for others', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const { pool, waits } = poolOf(1);
  const held = pool.tryTake(owner('ann', 'acme'));
  const waiting = new Asked(pool, owner('bob', 'acme'));
  const patient = pool.takeAgain(owner('cid', 'acme'));
  await vi.advanceTimersByTimeAsync(WAIT_MS);
  expect(waiting.refusal).toBeInstanceOf(TooManyAtOnceError);
  expect(waits).toEqual([{ ms: WAIT_MS, isRefused: true }]);
  held?.release();
  (await patient).release();
  expect(pool.tryTake(owner('bob', 'acme'))).toBeDefined();
});

test('a caller that has left before waits for nothing', async () => {
  const { pool } = poolOf(1);
  const held = pool.tryTake(owner('ann', 'acme'));
  await expect(pool.take(owner('bob', 'acme'), { signal: AbortSignal.abort() })).rejects.toThrow(DomainError);
  held?.release();
  expect(pool.tryTake(owner('bob', 'acme'))).toBeDefined();
});

test('further bounds hold beside those of the person', () => {
  const { pool } = poolOf(10);
  const bounded = (person: string) => ({ ...owner(person, 'acme'), bounds: [{ name: 'failing', max: 2 }] });
  const slots = ['ann', 'bob', 'cid'].map((person) => pool.tryTake(bounded(person)));
  expect(slots.map((slot) => slot !== undefined)).toEqual([true, true, false]);
  expect(pool.tryTake(owner('cid', 'acme'))).toBeDefined();
  slots[0]?.release();
  expect(pool.tryTake(bounded('cid'))).toBeDefined();
});

const answerOf = ({ owner: of }: Slot) => new AnswerShare(createAnswerMemory(poolOf(1).pool, 1), of, {});

async function during(request: RequestSlot, work: () => Promise<void>): Promise<void> {
  await request.enter();
  await work().finally(() => request.leave());
}

/** A step of a request; the slot is given back while it waits, and taken by statements meanwhile. */
const step = fc.constantFrom('wait', 'statement', 'failing wait', 'failing statement');

test('a request has at most one slot, none while it only waits, and none when it has ended, whatever fails', async () => {
  const property = fc.asyncProperty(fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 4 }), async (branches) => {
    const { pool } = poolOf(1);
    const first = pool.tryTake(owner('ann', 'acme'));
    if (!first) throw new Error('the pool is empty');
    const request = new RequestSlot(pool, first, answerOf(first));
    const isFree = () => {
      const slot = pool.tryTake(owner('bob', 'beta'));
      slot?.release();
      return slot !== undefined;
    };
    const seen: string[] = [];
    const run = async (steps: readonly string[]) => {
      for (const name of steps) {
        const work = async () => {
          await settle();
          seen.push(`${name}: ${name.endsWith('statement') && isFree() ? 'without a slot' : 'as it must be'}`);
          if (name.startsWith('failing')) throw new Error(name);
        };
        await (name.endsWith('wait') ? request.waiting(work) : during(request, work)).catch(() => undefined);
      }
    };
    await Promise.all(branches.map(run));
    const states = [isFree()];
    await request.waiting(async () => void states.push(isFree()));
    request.end();
    states.push(isFree());
    // A stream goes on, and takes a slot for each statement.
    await during(request, async () => void states.push(isFree()));
    states.push(isFree());
    expect(seen.filter((line) => line.endsWith('without a slot'))).toEqual([]);
    expect(states).toEqual([false, true, true, false, true]);
  });
  await fc.assert(property);
});

test('a request that ends while it waits for its slot again keeps none', async () => {
  const { pool } = poolOf(1);
  const first = pool.tryTake(owner('ann', 'acme'));
  if (!first) throw new Error('the pool is empty');
  const request = new RequestSlot(pool, first, answerOf(first));
  let other: Slot | undefined;
  const over = request.waiting(async () => void (other = pool.tryTake(owner('bob', 'beta'))));
  await settle();
  request.end();
  other?.release();
  await over;
  expect(pool.tryTake(owner('bob', 'beta'))).toBeDefined();
});
