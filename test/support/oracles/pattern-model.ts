/**
 * A model of a backtracking matcher that counts the characters it compares, for the syntax that patterns of credentials use. It also makes
 * texts from a pattern: those that it matches, and beginnings of them.
 */

export type Pattern =
  | { readonly kind: 'character'; readonly matches: (character: string) => boolean }
  | { readonly kind: 'sequence'; readonly items: readonly Pattern[] }
  | { readonly kind: 'choice'; readonly options: readonly Pattern[] }
  | {
      readonly kind: 'repeat';
      readonly item: Pattern;
      readonly min: number;
      readonly max: number;
      readonly isLazy: boolean;
    }
  | { readonly kind: 'look'; readonly item: Pattern; readonly isBehind: boolean; readonly isNegative: boolean }
  | { readonly kind: 'edge'; readonly isAt: (text: string, at: number) => boolean };

const TOKENS =
  /\(\?<?[=!]|\(\?i?:|\(\?<\w+>|[()|]|[?*+]\??|\{\d+,?\d*\}\??|\[(?:\\[^]|[^\]\\])*\]|\\p\{\w+\}|\\[ux][\da-f]+|\\[^]|[^]/g;

export function parsePattern(pattern: RegExp): Pattern {
  return new Parser(pattern).choice(pattern.flags.includes('i') ? 'i' : '');
}

class Parser {
  readonly #tokens: readonly string[];
  readonly #flags: string;
  #at = 0;

  constructor({ source, flags }: RegExp) {
    this.#tokens = source.match(TOKENS) ?? [];
    this.#flags = flags.includes('u') ? 'u' : '';
  }

  choice(caseFlag: string): Pattern {
    const options = [this.#sequence(caseFlag)];
    while (this.#tokens[this.#at] === '|') {
      this.#at += 1;
      options.push(this.#sequence(caseFlag));
    }
    return { kind: 'choice', options };
  }

  #sequence(caseFlag: string): Pattern {
    const items: Pattern[] = [];
    while (this.#at < this.#tokens.length && !/^[|)]$/.test(this.#tokens[this.#at] ?? ''))
      items.push(this.#repeated(this.#atom(caseFlag)));
    return { kind: 'sequence', items };
  }

  #repeated(item: Pattern): Pattern {
    const token = this.#tokens[this.#at] ?? '';
    const [, symbol, min, comma, max] = /^([?*+]|\{(\d+)(,)?(\d+)?\})\??$/.exec(token) ?? [];
    if (symbol === undefined) return item;
    this.#at += 1;
    return {
      kind: 'repeat',
      item,
      min: min === undefined ? (symbol === '+' ? 1 : 0) : Number(min),
      max: min === undefined ? (symbol === '?' ? 1 : Infinity) : Number(max ?? (comma ? Infinity : min)),
      isLazy: token.length > symbol.length,
    };
  }

  #atom(caseFlag: string): Pattern {
    const token = this.#tokens[this.#at] ?? '';
    this.#at += 1;
    if (token.startsWith('(')) {
      const item = this.choice(token === '(?i:' ? 'i' : caseFlag);
      this.#at += 1;
      if (!/^\(\?<?[=!]$/.test(token)) return item;
      return { kind: 'look', item, isBehind: token.includes('<'), isNegative: token.includes('!') };
    }
    if (token === '$') return { kind: 'edge', isAt: (text, at) => at === text.length };
    if (token === '\\b') return { kind: 'edge', isAt: (text, at) => isWord(text[at - 1]) !== isWord(text[at]) };
    return { kind: 'character', matches: matcherOf(new RegExp(`^${token}$`, caseFlag + this.#flags)) };
  }
}

const isWord = (character = ' ') => /\w/.test(character);

function matcherOf(pattern: RegExp): (character: string) => boolean {
  const known = new Map<string, boolean>();
  return (character) => {
    let isMatch = known.get(character);
    if (isMatch === undefined) known.set(character, (isMatch = pattern.test(character)));
    return isMatch;
  };
}

/** How many characters a search for all matches compares. */
export function stepsOf(pattern: Pattern, text: string): number {
  const matcher = new Matcher(text);
  for (let at = 0; at <= text.length;)
    at = Math.max(
      at + 1,
      matcher.match(pattern, at, (end) => end),
    );
  return matcher.steps;
}

/** Matches what follows at a position, and returns the end of all, or -1. */
type Next = (at: number) => number;

class Matcher {
  steps = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  match(node: Pattern, at: number, next: Next): number {
    if (node.kind === 'sequence') return this.#sequence(node.items, 0, at, next);
    if (node.kind === 'choice') return this.#choice(node.options, at, next);
    if (node.kind === 'repeat') return this.#repeat(node, at, next);
    if (node.kind === 'edge') return node.isAt(this.#text, at) ? next(at) : -1;
    if (node.kind === 'look') {
      // What is looked at before a position has one character.
      const isFound = this.match(node.item, node.isBehind ? at - 1 : at, (end) => end) >= 0;
      return isFound === node.isNegative ? -1 : next(at);
    }
    this.steps += 1;
    const character = this.#text[at];
    return character !== undefined && node.matches(character) ? next(at + 1) : -1;
  }

  #sequence(items: readonly Pattern[], index: number, at: number, next: Next): number {
    const item = items[index];
    return item ? this.match(item, at, (end) => this.#sequence(items, index + 1, end, next)) : next(at);
  }

  #choice(options: readonly Pattern[], at: number, next: Next): number {
    for (const option of options) {
      const end = this.match(option, at, next);
      if (end >= 0) return end;
    }
    return -1;
  }

  /** The repeated items do not give back what they have matched: all but those of Slack's tokens have one length. */
  #repeat({ item, min, max, isLazy }: Extract<Pattern, { kind: 'repeat' }>, at: number, next: Next): number {
    const ends = [at];
    const extend = () => {
      const last = ends.at(-1) ?? at;
      const end = ends.length > max ? -1 : this.match(item, last, (position) => position);
      return end > last && ends.push(end) > 0;
    };
    while (ends.length <= min) if (!extend()) return -1;
    if (isLazy) {
      do {
        const end = next(ends.at(-1) ?? at);
        if (end >= 0) return end;
      } while (extend());
      return -1;
    }
    while (extend());
    for (let count = ends.length - 1; count >= min; count -= 1) {
      const end = next(ends[count] ?? at);
      if (end >= 0) return end;
    }
    return -1;
  }
}

const PRINTABLE = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index));

/** A text that the pattern matches. `random` is between 0 and 1; `most` is how often something is repeated at most beyond its minimum. */
export function exampleOf(node: Pattern, random: () => number, most: number): string {
  const oneOf = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)];
  switch (node.kind) {
    case 'character':
      return oneOf(PRINTABLE.filter(node.matches)) ?? '\n';
    case 'sequence':
      return node.items.map((item) => exampleOf(item, random, most)).join('');
    case 'choice': {
      const option = oneOf(node.options);
      return option ? exampleOf(option, random, most) : '';
    }
    case 'repeat': {
      const count = Math.min(node.max, node.min + Math.floor(random() * (most + 1)));
      return Array.from({ length: count }, () => exampleOf(node.item, random, most)).join('');
    }
    default:
      return '';
  }
}

/** Texts that make the pattern begin again and again: each beginning of a match, short and long. */
export function beginningsOf(node: Pattern, random: () => number): string[] {
  if (node.kind === 'choice') return node.options.flatMap((option) => beginningsOf(option, random));
  if (node.kind !== 'sequence') return [exampleOf(node, random, 0)];
  return node.items.flatMap((_, index) => {
    const beginning = { kind: 'sequence', items: node.items.slice(0, index + 1) } as const;
    return [exampleOf(beginning, random, 0), exampleOf(beginning, random, 300)];
  });
}
