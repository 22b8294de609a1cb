import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMarkdown } from '../../../src/domains/session-events/markdown.ts';

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

test('no text of an agent begins a heading or HTML, ends a quotation or a block of code, or controls a terminal', () => {
  fc.assert(
    fc.property(hostileText, hostileText, hostileText, (text, name, other) => {
      const writer = createMarkdown();
      const markdown = [
        writer.head({ ...HEAD, title: name, agent: other }),
        writer.event({ type: 'm', source: 'user', deltaType: 'text_delta', itemId: '1', accumulatedText: 'Begin' }),
        writer.event({ type: 'm', deltaType: 'text_delta', itemId: '2', accumulatedText: text }),
        writer.event({
          type: 'm',
          deltaType: 'text_delta',
          itemId: '3',
          responsePhase: 'commentary',
          accumulatedText: text,
        }),
        writer.event({ type: 'c', deltaType: 'input_json_delta', itemId: '4', toolName: name, accumulatedText: text }),
        writer.event({
          type: 'r',
          source: 'tool',
          toolName: name,
          toolResult: { status: 'error', output: text, error: other },
        }),
        writer.event({ type: 'n', source: 'system', accumulatedText: text }),
        writer.event({ type: 'm', source: 'user', deltaType: 'text_delta', itemId: '5', accumulatedText: 'End' }),
        writer.end(),
      ].join('');
      const { headings, quoted, others } = read(markdown);
      const speakers = headings.slice(1).filter((heading) => heading !== '## System');
      expect([headings[0]?.startsWith('# '), speakers]).toEqual([true, ['## User', '## Agent', '## Tool', '## User']]);
      expect([quoted[0], quoted.at(-1)]).toEqual(['Begin', 'End']);
      const own = /^(?:- \w+: .*|<details><summary>Thinking<\/summary>|<\/details>|\*\*.*\*\*|Result of .*)$/;
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
    'Use **`a < b`**:\n\n- one\n\n```ts\nconst a: Array<string> = [`x`];\n```\n\nor <b>this</b>\n~~~\nunclosed ``` <i>';
  writer.event({ type: 'm', deltaType: 'text_delta', itemId: '1', accumulatedText: text });
  expect(writer.end()).toBe(
    '## Agent\n\n> Use **`a < b`**:\n>\n> - one\n>\n\n```ts\nconst a: Array<string> = [`x`];\n```\n\n>\n> or \\<b>this\\</b>\n\n````\nunclosed ``` <i>\n````\n\n',
  );
});

test('a text of very many backticks, tildes, brackets or backslashes is written', () => {
  for (const part of ['`', '~', '<', '\\', '` ', '`\n', '#', '- ', '1. ', '=', ' ', '\\<', '\r', '```\n']) {
    const writer = createMarkdown();
    const accumulatedText = `a\n${part.repeat(300_000)}~`;
    writer.event({ type: 'm', deltaType: 'text_delta', itemId: '1', accumulatedText });
    writer.event({ type: 'r', toolResult: { status: 'error', output: accumulatedText, error: accumulatedText } });
    expect(writer.end()).toBe('');
  }
});
