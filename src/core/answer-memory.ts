import { LRUCache } from 'lru-cache';
import { largest } from './arrays.ts';
import { DomainError } from './errors.ts';
import { type FairShares, type Owner, Slot, type Waiter } from './fair-shares.ts';

/**
 * Bounds the memory of answers, from before their statements until their clients have read them. How large an answer will be is not known before
 * its statements, so it takes as much as the largest of the last ones of its route or document; rows beyond that take more as they arrive.
 */

const KIB = 1024;
/** So much is not counted before a statement: nobody waits for a small answer. */
const LEAST_BYTES = 64 * KIB;
/** A larger answer is sent in parts of this length, each after the previous part was sent, and counts until it was read. */
export const PART_LENGTH = 256 * KIB;
const COMPARED = 10;

class RecentSizes {
  readonly #sizes: number[] = [];
  #next = 0;

  add(bytes: number): void {
    this.#sizes[this.#next] = bytes;
    this.#next = (this.#next + 1) % COMPARED;
  }

  get largest(): number {
    return largest(this.#sizes, 0);
  }
}

/** The sizes of the last answers of each route and document, and of each person for documents that are new. */
class AnswerSizes {
  readonly #ofSource = new WeakMap<object, RecentSizes>();
  readonly #ofPerson = new LRUCache<string, RecentSizes>({ max: 1_000 });

  /** `person` is given if callers can make any number of such sources. */
  expected(source: object, person = ''): number {
    return (this.#ofSource.get(source) ?? this.#ofPerson.get(person))?.largest ?? LEAST_BYTES;
  }

  add(source: object, person: string, bytes: number): void {
    let known = this.#ofSource.get(source);
    if (!known) this.#ofSource.set(source, (known = new RecentSizes()));
    known.add(bytes);
    if (bytes <= LEAST_BYTES) return;
    let own = this.#ofPerson.get(person);
    if (!own) this.#ofPerson.set(person, (own = new RecentSizes()));
    own.add(bytes);
  }
}

/** The memory for answers of a process, of which no person has more than `ofPerson`. */
export interface AnswerMemory {
  readonly pool: FairShares;
  readonly ofPerson: number;
  readonly sizes: AnswerSizes;
}

export const createAnswerMemory = (pool: FairShares, ofPerson: number): AnswerMemory => ({
  pool,
  ofPerson,
  sizes: new AnswerSizes(),
});

/** The memory of one answer. */
export class AnswerShare {
  readonly #memory: AnswerMemory;
  readonly #request: Owner;
  readonly #waiter: Waiter;
  /** The route or document that is answered. */
  #source: object | undefined;
  #isOfCaller = false;
  #slot: Slot | undefined;
  #taking: Promise<void> | undefined;
  #expected = LEAST_BYTES;
  /** The bytes that were read when it last took more. */
  #read = 0;
  #isAnswered = false;

  /** `owner` is that of the request. */
  constructor(memory: AnswerMemory, owner: Owner, waiter: Waiter) {
    this.#memory = memory;
    this.#request = owner;
    this.#waiter = waiter;
  }

  /** Call before the first statement of what only reads. */
  expectAnswerOf(source: object, isOfCaller: boolean): void {
    this.#source = source;
    this.#isOfCaller = isOfCaller;
  }

  /** The largest answer that there is room for. */
  get room(): number {
    return Math.max(PART_LENGTH, this.#memory.pool.roomOf(this.#owner) + (this.#slot?.size ?? 0));
  }

  /** Call before a statement; it must wait for what is returned. @throws DomainError 503 when there is no room in time. */
  enter(): Promise<void> | undefined {
    if (this.#isAnswered || !this.#source) return undefined;
    if (this.#taking) return this.#taking;
    if (this.#read > this.#expected) return this.#memory.pool.roomOf(this.#owner) < 0 ? this.#take(1) : undefined;
    if (this.#slot) return undefined;
    const { sizes, ofPerson } = this.#memory;
    const person = this.#isOfCaller ? this.#request.person : undefined;
    this.#expected = Math.min(sizes.expected(this.#source, person), ofPerson);
    return this.#expected > LEAST_BYTES ? this.#take(this.#expected) : undefined;
  }

  /** Takes more when so many bytes were read. @returns the number of bytes with which to call it again. */
  grow(bytes: number): number {
    if (this.#isAnswered) return Infinity;
    if (bytes <= LEAST_BYTES) return LEAST_BYTES;
    this.#read = Math.max(this.#read, bytes);
    const taken = this.#slot?.size ?? 0;
    if (bytes <= taken) return taken;
    this.#keep(bytes + PART_LENGTH);
    return bytes + PART_LENGTH;
  }

  /**
   * Call with the size of the answer. That much is counted until the client has read it or disconnected.
   * @returns a function to call then.
   * @throws DomainError 503 with `Retry-After` if it is larger than expected, has no room, and the request has changed nothing.
   */
  settle(bytes: number, { isWrite }: { readonly isWrite: boolean }): () => void {
    const size = Math.max(bytes, this.#read);
    if (this.#source) this.#memory.sizes.add(this.#source, this.#request.person, size);
    this.#isAnswered = true;
    if (bytes <= PART_LENGTH) {
      this.release();
      return nothing;
    }
    this.#keep(bytes);
    if (!isWrite && size > this.#expected && this.#memory.pool.roomOf(this.#owner) < 0) {
      this.release();
      throw noRoom();
    }
    return () => this.release();
  }

  /**
   * Counts each part of a stream until the next one is read. Ends the stream at a part for which its person has no room; answers of others do not
   * end it.
   */
  countParts<Part extends { readonly length: number }>(stream: AsyncIterable<Part>): AsyncIterable<Part> {
    const parts = stream[Symbol.asyncIterator]();
    return {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          this.release();
          const next = await parts.next();
          const bytes = next.done ? 0 : next.value.length;
          if (bytes <= PART_LENGTH) return next;
          if (bytes > this.#memory.pool.roomOfPerson(this.#owner)) {
            await parts.return?.();
            throw noRoom();
          }
          this.#keep(bytes);
          return next;
        },
        return: async (value) => {
          this.release();
          return (await parts.return?.(value)) ?? { done: true, value };
        },
      }),
    };
  }

  /** Call when nothing is answered, or it was read. */
  release(): void {
    this.#isAnswered = true;
    this.#slot?.release();
    this.#slot = undefined;
  }

  get #owner(): Owner {
    return { ...this.#request, max: this.#memory.ofPerson };
  }

  #take(bytes: number): Promise<void> | undefined {
    const taken = this.#memory.pool.take(this.#owner, this.#waiter, bytes);
    if (taken instanceof Slot) return this.#add(taken);
    this.#taking = taken.then((slot) => this.#add(slot)).finally(() => (this.#taking = undefined));
    return this.#taking;
  }

  /** What it waited for beyond what it has is only a sign that there is room. */
  #add(slot: Slot): undefined {
    if (this.#isAnswered || this.#slot) slot.release();
    else this.#slot = slot;
  }

  #keep(bytes: number): void {
    if (this.#slot) this.#slot.resize(bytes);
    else this.#slot = this.#memory.pool.takeAnyway(this.#owner, bytes);
  }
}

const nothing = () => undefined;

export function noRoom(): DomainError {
  const message = 'too many large answers are waiting to be read; read them first, or request smaller ones';
  return new DomainError('unavailable', message, { headers: { 'Retry-After': '1' } });
}
