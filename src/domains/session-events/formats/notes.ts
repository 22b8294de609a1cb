import type { Draft } from './format.ts';

/** A text that the program of the agent has added, which nobody has said. */
export function noteOf({ scope, itemId, accumulatedText = '' }: Draft): Draft {
  return {
    name: 'note',
    source: 'system',
    ...(scope && { scope }),
    ...(itemId !== undefined && { itemId }),
    accumulatedText,
  };
}
