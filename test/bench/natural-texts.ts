import { random as seededRandom } from '../support/random.ts';

const random = seededRandom(20261127);

/** A vocabulary of 50,000 words, of which the first are frequent and the last are rare, as in natural texts. */
const SYLLABLES = 'ta re mi so la ko ne du fi ga pe shi to ru ba ve zo qui el an'.split(' ');
const WORDS = Array.from({ length: 50_000 }, (_, rank) => {
  let word = '';
  for (let rest = rank + SYLLABLES.length; rest > 0; rest = Math.floor(rest / SYLLABLES.length))
    word += SYLLABLES[rest % SYLLABLES.length];
  return word;
});

export const wordOf = (rank: number) => WORDS[rank] ?? '';

/** So many words, the same ones in each run. */
export const textOf = (length: number) =>
  Array.from({ length }, () => wordOf(Math.floor(Math.exp(random() * Math.log(WORDS.length))) - 1)).join(' ');
