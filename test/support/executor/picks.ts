import { random } from '../random.ts';

/** Random choices that are the same for the same seed. */
export interface RandomChoices {
  chance(probability: number): boolean;
  /** From `min` to `max`, both included. */
  number(min: number, max: number): number;
  of<Item>(items: readonly Item[]): Item;
}

export function choicesFrom(seed: string | number): RandomChoices {
  const next = random(typeof seed === 'number' ? seed : hash(seed));
  const number = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return {
    chance: (probability) => next() < probability,
    number,
    of: (items) => items[number(0, items.length - 1)] as never,
  };
}

// FNV-1a.
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value;
}
