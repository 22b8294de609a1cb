import { DomainError, TooManyAtOnceError } from './errors.ts';
import { Sums } from './swept-map.ts';

/**
 * Bounds what runs at once, so that nobody waits for the work of somebody else. A pool has slots; who gets none waits in the line of their
 * organization. The lines are served in turn, and within a line its persons. Memory is shared in the same way: a slot is a byte there, and what
 * takes some takes many.
 */

/** For whom something runs. */
export interface Owner {
  readonly kind: 'person' | 'address' | 'credential' | 'organization';
  /** A person, service account or client address; the credential of somebody who is not known yet; or the organization. */
  readonly person: string;
  /** Maximum number of slots of the person. */
  readonly max: number;
  /** Whoever acts in no organization is one alone. */
  readonly organization: string;
  /** Further maxima that hold at the same time. */
  readonly bounds?: readonly Bound[] | undefined;
}

export interface Bound {
  readonly name: string;
  readonly max: number;
}

export interface PoolOptions {
  /** The name in metrics. */
  readonly name: string;
  readonly slots: number;
  /** Maximum time that something waits for a slot. */
  readonly waitMs: number;
  readonly observer?: PoolObserver | undefined;
  /** The error after that time; by default {@link TooManyAtOnceError}. */
  readonly refusal?: () => DomainError;
}

/** Who waits. The signal is read only then, and ends the wait. */
export interface Waiter {
  readonly signal?: AbortSignal | undefined;
}

export interface PoolObserver {
  /** Something begins to wait. */
  onWait(pool: string, owner: Owner): void;
  /** It waits no longer. */
  onWaited(pool: string, wait: { readonly ms: number; readonly isRefused: boolean }): void;
}

/** Slots in which something runs. */
export class FairShares {
  readonly name: string;
  readonly #options: PoolOptions;
  /** What an organization has at most, while a request of another one waits that has less. */
  readonly #share: number;
  readonly #ofPerson = new Sums();
  readonly #ofOrganization = new Sums();
  readonly #ofBound = new Sums();
  /** By organization and person, both in the order in which they are served. */
  readonly #lines = new Map<string, Map<string, Set<Waiting>>>();
  #running = 0;
  #waiting = 0;

  constructor(options: PoolOptions) {
    this.name = options.name;
    this.#options = options;
    this.#share = Math.max(1, Math.floor(options.slots / 4));
  }

  get isFull(): boolean {
    return this.#running >= this.#options.slots;
  }

  /** Slots that are free for this owner; negative if more were taken anyway. */
  roomOf(owner: Owner): number {
    return Math.min(this.roomOfPerson(owner), this.#options.slots - this.#running);
  }

  /** The same without regard to what others have. */
  roomOfPerson({ person, max }: Owner): number {
    return max - this.#ofPerson.get(person);
  }

  /** Slots that are free now; undefined without them. */
  tryTake(owner: Owner, size = 1): Slot | undefined {
    return this.#hasRoom(owner, size) ? this.takeAnyway(owner, size) : undefined;
  }

  /**
   * Slots, at once if they are free.
   * @throws TooManyAtOnceError after {@link PoolOptions.waitMs}; DomainError 503 when the signal aborts.
   */
  take(owner: Owner, waiter?: Waiter, size = 1): Slot | Promise<Slot> {
    return this.tryTake(owner, size) ?? this.#wait({ owner, size }, this.#options.waitMs, waiter?.signal);
  }

  /** A slot for something that has begun: it waits as long as it takes. */
  takeAgain(owner: Owner): Slot | Promise<Slot> {
    return this.tryTake(owner) ?? this.#wait({ owner, size: 1 });
  }

  /** Slots for what has them already, even if none is free. */
  takeAnyway(owner: Owner, size: number): Slot {
    this.#count(owner, size);
    return new Slot(owner, size, this.#change);
  }

  #hasRoom(owner: Owner, size: number): boolean {
    if (this.roomOf(owner) < size) return false;
    return owner.bounds?.every((bound) => this.#ofBound.get(bound.name) + size <= bound.max) ?? true;
  }

  readonly #change = (owner: Owner, by: number): void => {
    this.#count(owner, by);
    if (by < 0 && this.#waiting > 0) this.#startWaiting();
  };

  #count({ person, organization, bounds }: Owner, by: number): void {
    this.#running += by;
    this.#ofPerson.add(person, by);
    this.#ofOrganization.add(organization, by);
    for (const { name } of bounds ?? []) this.#ofBound.add(name, by);
  }

  #wait(wanted: Pick<Waiting, 'owner' | 'size'>, maxMs?: number, signal?: AbortSignal): Promise<Slot> {
    const { observer, refusal = () => new TooManyAtOnceError() } = this.#options;
    const began = performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const end = (isRefused: boolean) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
      this.#remove(waiting);
      observer?.onWaited(this.name, { ms: performance.now() - began, isRefused });
    };
    const refuse = () => {
      end(true);
      reject(refusal());
    };
    const leave = () => {
      end(false);
      reject(new DomainError('unavailable', 'the caller has left before the answer'));
    };
    const start = (slot: Slot) => {
      end(false);
      resolve(slot);
    };
    const timer = maxMs === undefined ? undefined : setTimeout(refuse, maxMs);
    const waiting: Waiting = { ...wanted, start };
    this.#add(waiting);
    observer?.onWait(this.name, wanted.owner);
    if (signal?.aborted) leave();
    else signal?.addEventListener('abort', leave, { once: true });
    return promise;
  }

  #add(waiting: Waiting): void {
    const { person, organization } = waiting.owner;
    let persons = this.#lines.get(organization);
    if (!persons) this.#lines.set(organization, (persons = new Map<string, Set<Waiting>>()));
    let line = persons.get(person);
    if (!line) persons.set(person, (line = new Set<Waiting>()));
    line.add(waiting);
    this.#waiting += 1;
  }

  #remove(waiting: Waiting): void {
    const { person, organization } = waiting.owner;
    const persons = this.#lines.get(organization);
    const line = persons?.get(person);
    if (!persons || !line?.delete(waiting)) return;
    this.#waiting -= 1;
    if (line.size === 0) persons.delete(person);
    if (persons.size === 0) this.#lines.delete(organization);
  }

  #startWaiting(): void {
    while (!this.isFull) {
      const next = this.#next(this.#share) ?? this.#next(Infinity);
      if (!next) return;
      next.start(this.takeAnyway(next.owner, next.size));
    }
  }

  /** What is served next, of an organization that has less than `share`. Its organization and its person are then served last. */
  #next(share: number): Waiting | undefined {
    for (const [organization, persons] of this.#lines) {
      if (this.#ofOrganization.get(organization) >= share) continue;
      for (const [person, line] of persons) {
        const [waiting] = line;
        if (!waiting || !this.#hasRoom(waiting.owner, waiting.size)) continue;
        moveToEnd(persons, person, line);
        moveToEnd(this.#lines, organization, persons);
        return waiting;
      }
    }
    return undefined;
  }
}

function moveToEnd<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
}

interface Waiting {
  readonly owner: Owner;
  readonly size: number;
  readonly start: (slot: Slot) => void;
}

type Change = (owner: Owner, by: number) => void;

/** What runs has it until it is released. */
export class Slot {
  readonly owner: Owner;
  readonly #change: Change;
  #size: number;

  constructor(owner: Owner, size: number, change: Change) {
    this.owner = owner;
    this.#size = size;
    this.#change = change;
  }

  get size(): number {
    return this.#size;
  }

  /** Takes more anyway, or gives some to whoever waits. */
  resize(size: number): void {
    const by = size - this.#size;
    this.#size = size;
    if (by !== 0) this.#change(this.owner, by);
  }

  /** Gives it to whoever waits. Further calls do nothing. */
  release(): void {
    this.resize(0);
  }
}

/** Runs work in a slot, once it is there. */
export async function inSlot<Result>(taken: Slot | Promise<Slot>, work: () => Promise<Result>): Promise<Result> {
  const slot = await taken;
  try {
    return await work();
  } finally {
    slot.release();
  }
}
