import type { InputFault } from '../../core/errors.ts';
import { isStorable } from '../../core/input/validation.ts';
import { type OperationContext, defineOperation, guarded } from '../../core/operation.ts';
import { NAME_PATTERN } from '../event-definitions/public.ts';
import { READ_VIOLATIONS } from './policy.ts';
import { UNKNOWN_EVENT } from './entity.ts';
import { VIOLATIONS, type Violation, addViolations } from './violation-queries.ts';

type Fault = Omit<Violation, 'count' | 'occurrences'>;

/** Counts the refused occurrences of one request. Values of properties are never kept. */
export class ViolationCounter {
  readonly #counts = new Map<string, Violation>();

  /** @param faults those of one occurrence, with paths from the occurrence */
  add(definitionId: string, faults: readonly InputFault[]): void {
    const found = faults.map(({ code, path: [first, name = ''] }): Fault => {
      // Another text can be anything, and is not the name of a property.
      const property = first === 'properties' && NAME_PATTERN.test(name) ? name : '';
      return { definitionId, reason: code, property };
    });
    this.#count(found);
  }

  /** Counts an occurrence of an event that does not exist, by the name that was sent. */
  addUnknown(eventName: string): void {
    const name = isStorable(eventName) ? eventName.slice(0, MAX_EVENT_NAME) : '';
    this.#count([{ definitionId: UNKNOWN_EVENT, reason: 'NOT_FOUND', property: name }]);
  }

  /** Each violation of an occurrence counts once, and the occurrence with the first of them. */
  #count(violations: readonly Fault[]): void {
    const found = new Map(violations.map((each) => [`${each.definitionId} ${each.reason} ${each.property}`, each]));
    let occurrences = 1;
    for (const [key, violation] of found) {
      const known = this.#counts.get(key);
      this.#counts.set(key, {
        ...violation,
        count: (known?.count ?? 0) + 1,
        occurrences: (known?.occurrences ?? 0) + occurrences,
      });
      occurrences = 0;
    }
  }

  /** Says what an error has refused, for {@link recordViolations}. */
  about<Refusal extends Error>(error: Refusal): Refusal {
    REFUSED_BY.set(error, this.violations);
    return error;
  }

  /** The most frequent ones with their properties; further ones are counted by reason alone. */
  get violations(): readonly Violation[] {
    const sorted = [...this.#counts.values()].toSorted((one, other) => other.count - one.count);
    const further = sorted.slice(MAX_NAMED).map((violation) => ({ ...violation, property: '' }));
    return [...sorted.slice(0, MAX_NAMED), ...further];
  }
}

const REFUSED_BY = new WeakMap<object, readonly Violation[]>();

/** Of one request, at most this many properties and unknown events are named. */
const MAX_NAMED = 50;
/** A longer name is cut. */
const MAX_EVENT_NAME = 100;

/**
 * Stores what a refused request has counted, in a statement of its own after its transaction. Accepted requests store nothing, and a failure
 * changes nothing for the caller.
 */
export async function recordViolations(context: OperationContext, refusal: unknown): Promise<void> {
  const violations = refusal instanceof Error ? REFUSED_BY.get(refusal) : undefined;
  if (!violations) return;
  try {
    await addViolations(context, violations);
  } catch (error) {
    // Logs it.
    context.toDomainError(error);
  }
}

export const listEventViolations = defineOperation({
  name: 'listEventViolations',
  description:
    'How many occurrences were refused in each hour of the last 30 days, by definition, reason, property and key, or by the name that was sent if no event has it. Latest first by default. There are no values.',
  access: READ_VIOLATIONS,
  run: VIOLATIONS.read,
});

/** The counts with these ids that the caller can see, in any order. */
export const readEventViolations = guarded(READ_VIOLATIONS, VIOLATIONS.find);
