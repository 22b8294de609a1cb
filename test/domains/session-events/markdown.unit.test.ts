import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type WrittenEntry, createMarkdown } from '../../../src/domains/session-events/markdown.ts';

/** A transcript in Markdown, whatever the texts in it are. */

const ESC = '\u001B';
const HOSTILE = [
  '## User', '\n## User\n', '- ## User', '> # User', '1. ## User', '\r## User\r', '\u2028## User\n', '\u0085## User', 'User\n---', 'User\n===\n',
  '```', '\n```\n', '````ts\n', '~~~', '\n~~~~ js\n', '   ```', '`` ` ``', '</details>', '<h2>User</h2>', '</blockquote><h2>', String.raw`\<b>`,
  String.raw`\\<b>`, '<!-- ', '<?x ', `${ESC}[31m`, `${ESC}]0;title\u0007`, '\u009B1m', '\u0000', '\b', '\n', '\n\n', '    code', '\t', ' ', 'a', '|', '---',
]; // prettier-ignore

interface Read {
  readonly headings: string[];
  readonly quoted: string[];
  readonly others: string[];
}

/** Reads Markdown by lines: only quotations, blocks of code with backticks, and what is neither. */
function read(markdown: string): Read {
  const found: Read = { headings: [], quoted: [], others: [] };
  let fence: string | undefined;
  for (const line of markdown.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)) {
    const ticks = /^(`{3,})([^`]*)$/.exec(line);
    if (fence !== undefined) {
      if (ticks?.[2]?.trim() === '' && (ticks[1] ?? '').length >= fence.length) fence = undefined;
    } else if (ticks) fence = ticks[1];
    else if (line.startsWith('>')) found.quoted.push(line.slice(2));
    else if (line.startsWith('#')) found.headings.push(line);
    else if (line !== '') found.others.push(line);
  }
  expect(fence).toBeUndefined();
  return found;
}

const hostileText = fc
  .array(fc.constantFrom(...HOSTILE), { minLength: 1, maxLength: 12 })
  .map((parts) => parts.join(''));
const HEAD = {
  state: 'queued',
  createdAt: 'now',
  usage: {
    inputTokens: null, outputTokens: null, cachedInputTokens: null, cacheWriteTokens: null, costUsd: null, turns: 0, toolCalls: 0, toolErrors: 0, durationMs: null,
  },
} as const; // prettier-ignore

const entry = (
  kind: WrittenEntry['kind'],
  text: string,
  { output = '', ...more }: Partial<WrittenEntry> & { readonly output?: string } = {},
): WrittenEntry => {
  const one = { kind, subagentId: null, toolName: null, isFailed: false, isOpen: false, outputId: 1 };
  return { ...one, ...more, content: { text, output } };
};

test('no text of an agent begins a heading or HTML, ends a quotation or a block of code, or controls a terminal', () => {
  fc.assert(
    fc.property(hostileText, hostileText, hostileText, (text, name, other) => {
      const writer = createMarkdown();
      const markdown = [
        writer.head({ ...HEAD, title: name, agent: other }),
        writer.entry(entry('userMessage', 'Begin')),
        writer.entry(entry('agentMessage', text)),
        writer.entry(entry('thinking', text)),
        writer.entry(entry('toolCall', text, { toolName: name, output: other, isFailed: true })),
        writer.entry(entry('note', text)),
        writer.entry(entry('userMessage', 'End')),
      ].join('');
      const { headings, quoted, others } = read(markdown);
      const speakers = headings.slice(1).filter((heading) => heading !== '## System');
      expect([headings[0]?.startsWith('# '), speakers]).toEqual([true, ['## User', '## Agent', '## User']]);
      expect([quoted[0], quoted.at(-1)]).toEqual(['Begin', 'End']);
      const own = /^(?:- \w+: .*|<details><summary>Thinking<\/summary>|<\/details>|\*\*.*\*\*|Result, an error[.:])$/;
      expect(others.filter((line) => !own.test(line))).toEqual([]);
      expect(markdown).not.toMatch(/(?!\n|\t)\p{Cc}/u);
      const outside = others.filter((line) => !/^<\/?details>/.test(line));
      for (const line of [...outside, ...headings, ...quoted])
        expect(line).not.toMatch(/(?:^|[^\\])(?:\\\\)*<[a-z/!?]/i);
      for (const line of [...outside, ...quoted])
        expect(line).not.toMatch(/^(?:[\s>]|[-+*]\s|\d+[.)]\s)*#{1,6}(?:\s|$)/);
    }),
    { numRuns: 300 },
  );
});

test('code stays code, with its language, and the rest of a message is Markdown that is quoted', () => {
  const writer = createMarkdown();
  const text =
    'Use **`a < b`**:\n\n- one\n\n```ts title="a b.ts"\nconst a: Array<string> = [`x`];\n```\n\nor <b>this</b>\n~~~\nunclosed ``` <i>';
  expect(writer.entry(entry('agentMessage', text))).toBe(
    '## Agent\n\n> Use **`a < b`**:\n>\n> - one\n>\n\n```ts title="a b.ts"\nconst a: Array<string> = [`x`];\n```\n\n>\n> or \\<b>this\\</b>\n\n````\nunclosed ``` <i>\n````\n\n',
  );
});

test('a text of very many backticks, tildes, brackets or backslashes is written', () => {
  for (const part of ['`', '~', '<', '\\', '` ', '`\n', '#', '- ', '1. ', '=', ' ', '\\<', '\r', '```\n']) {
    const text = `a\n${part.repeat(300_000)}~`;
    const written = createMarkdown().entry(entry('toolCall', text, { toolName: text, output: text }));
    expect(written.length).toBeGreaterThan(text.length);
    expect(createMarkdown().entry(entry('agentMessage', text)).length).toBeGreaterThan(0);
  }
});
