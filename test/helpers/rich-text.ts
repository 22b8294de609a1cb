import { z } from 'zod';
import { parseInput } from '../../src/core/validation.ts';
import { richTextDocument } from '../../src/domains/sessions/rich-text.ts';

const input = z.strictObject({ richContent: richTextDocument });

/** Why an update with this rich text is refused; `accepted` when it is not. */
export function messageOf(richContent: unknown): string {
  try {
    parseInput(input, { richContent });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'accepted';
}

export const doc = (...content: unknown[]) => ({ type: 'doc', content });
export const block = (...content: unknown[]) => ({ type: 'paragraph', content });
export const words = (text: string, ...marks: unknown[]) => ({
  type: 'text',
  text,
  ...(marks.length > 0 && { marks }),
});
export const link = (href: unknown) => ({ type: 'link', attrs: { href } });
export const image = (src: unknown) => ({ type: 'image', attrs: { src } });
export const json = (text: string): unknown => JSON.parse(text);

export const ADDRESS_RULE =
  'must be an http, https or mailto address or a relative one, of 1 to 8192 characters, without whitespace, control characters or backslashes';

/** A document with every kind of node, and with attributes of editors beside the known ones. */
export const everyKind = doc(
  { type: 'heading', attrs: { level: 1, textAlign: null }, content: [words('Title')] },
  block(
    words('See ', { type: 'bold' }, { type: 'textStyle', attrs: { color: '#f00', fontSize: 12 } }),
    words('here', { type: 'link', attrs: { href: 'https://example.com/a?b#c', target: '_blank', rel: null } }),
    { type: 'hardBreak' },
    { type: 'mention', attrs: { id: 'u1', label: 'Ada' }, marks: [{ type: 'bold' }] },
    { type: 'image', attrs: { src: '/logo.png', alt: 'Logo', title: null, width: 20 } },
  ),
  {
    type: 'orderedList',
    attrs: { start: 3, type: null },
    content: [{ type: 'listItem', content: [block(words('third'))] }],
  },
  { type: 'taskList', content: [{ type: 'taskItem', attrs: { checked: true }, content: [block(words('done'))] }] },
  { type: 'codeBlock', attrs: { language: 'ts' }, content: [words('let a;\nlet b;')] },
  {
    type: 'tableCell',
    attrs: { colspan: 2, colwidth: [100, 200], data: { nested: [{ deep: true }] } },
    content: [block()],
  },
  { type: 'horizontalRule' },
);

/** Addresses that are accepted of links and images. */
export const safe = [
  'https://example.com',
  'HTTP://EXAMPLE.com:8080/a/b?c=d:e#f',
  'https://bücher.example/größe',
  'mailto:ada@example.com?subject=a%20b',
  'MAILTO:ada@example.com',
  '/path/to?x=1',
  'path/to:this',
  './javascript:alert',
  '../up',
  '?q=a:b',
  '#part:2',
  'file.png',
  `/${'a'.repeat(8191)}`,
];
