import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseInput } from '../../../src/core/input/validation.ts';
import { type RichTextNode, richTextDocument, toPlainText } from '../../../src/domains/sessions/rich-text.ts';
import { block, doc, everyKind, image, json, link, safe, words } from '../../support/fixtures/rich-text.ts';

function plain(...content: unknown[]): string {
  return toPlainText(parseInput(richTextDocument, doc(...content)));
}

describe('plain text', () => {
  test('has a line for every block', () => {
    expect(toPlainText(parseInput(richTextDocument, everyKind))).toBe(
      'Title\nSee here\n@AdaLogo\nthird\ndone\nlet a;\nlet b;',
    );
  });

  test.each<[string, unknown[], string]>([
    ['nothing', [], ''],
    ['only nodes without text', [block(), { type: 'horizontalRule' }, block(words('  '))], ''],
    ['text cut into pieces', [block(words('a'), words('b', { type: 'bold' }))], 'ab'],
    ['an empty paragraph between two', [block(words('a')), block(), block(words('b'))], 'a\n\nb'],
    ['a mention without label', [block({ type: 'mention', attrs: { id: 'u1', label: null } })], '@u1'],
    [
      'nothing but mentions and breaks',
      [
        block({ type: 'mention', attrs: { id: 'a' } }, { type: 'mention', attrs: { id: 'b' } }),
        block(image('/a'), { type: 'hardBreak' }, { type: 'mention', attrs: { id: 'c' } }),
      ],
      '@a@b\n\n@c',
    ],
    [
      'images beside each other',
      [
        image('/a'),
        { type: 'image', attrs: { src: '/b', alt: 'B' } },
        { type: 'image', attrs: { src: '/c', alt: 'C' } },
      ],
      'B\nC',
    ],
    [
      'a list within an item',
      [
        {
          type: 'listItem',
          content: [words('a'), { type: 'list', content: [block(words('b')), block(words('c'))] }, words('d')],
        },
      ],
      'a\nb\nc\nd',
    ],
    [
      'an item that begins with text and goes on with two lists',
      [
        {
          type: 'listItem',
          content: [
            words('a'),
            { type: 'list', content: [block(words('b'))] },
            { type: 'list', content: [block(words('c'))] },
          ],
        },
        block(words('d')),
      ],
      'a\nb\nc\nd',
    ],
    [
      'images in a block without text',
      [block({ type: 'image', attrs: { src: '/b', alt: 'B' } }, { type: 'image', attrs: { src: '/c', alt: 'C' } })],
      'B\nC',
    ],
    [
      'images in one line with a break',
      [
        block(
          { type: 'image', attrs: { src: '/b', alt: 'B' } },
          { type: 'hardBreak' },
          { type: 'image', attrs: { src: '/c', alt: 'C' } },
        ),
      ],
      'B\nC',
    ],
    ['an unknown node among text', [block(words('a'), { type: 'emoji', attrs: { name: 'x' } }, words('b'))], 'ab'],
    ['whitespace at the ends', [block(words('  a ')), block(words(' b  '))], 'a \n b'],
  ])('of %s', (_, content, expected) => {
    expect(plain(...content)).toBe(expected);
  });
});

/** Random documents that the schema accepts. */
const documents = (() => {
  const name = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }).filter((type) => type !== '__proto__');
  const attribute = fc.oneof(
    fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0')),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.integer()),
  );
  const attrs = fc.dictionary(
    name.filter((key) => !/^(?:href|src|url|xlink:href)$/i.test(key)),
    attribute,
    { maxKeys: 3 },
  );
  const marks = fc.array(
    fc.oneof(fc.record({ type: name }), fc.record({ type: name, attrs }), fc.constantFrom(...safe).map(link)),
    { maxLength: 3 },
  );
  const value = fc.string({ unit: 'grapheme', maxLength: 30 }).filter((own) => !own.includes('\0'));
  const { node } = fc.letrec<{ node: RichTextNode; leaf: RichTextNode; block: RichTextNode }>((tie) => ({
    node: fc.oneof({ maxDepth: 6, withCrossShrink: true }, tie('leaf'), tie('block')),
    leaf: fc.oneof(
      fc.record({ type: fc.constant('text'), text: value, marks }, { requiredKeys: ['type', 'text'] }),
      fc.record({ type: fc.constant('mention'), attrs: fc.record({ id: name, label: fc.option(name) }) }),
      fc.record({
        type: fc.constant('image'),
        attrs: fc.record({ src: fc.constantFrom(...safe), alt: fc.option(value) }),
      }),
      fc.record({ type: fc.constantFrom('hardBreak', 'horizontalRule', 'emoji') }),
    ),
    block: fc.oneof(
      fc.record(
        {
          type: fc.constantFrom('paragraph', 'listItem', 'table', 'callout'),
          content: fc.array(tie('node'), { maxLength: 5 }),
          attrs,
        },
        { requiredKeys: ['type'] },
      ),
      fc.record({
        type: fc.constant('heading'),
        content: fc.array(tie('node'), { maxLength: 5 }),
        attrs: fc.integer({ min: 1, max: 6 }).map((level) => ({ level })),
      }),
    ),
  }));
  return fc.record({ type: fc.constant('doc' as const), content: fc.array(node, { maxLength: 8 }) });
})();

describe('of any document', () => {
  test('the schema returns an accepted document unchanged, also after JSON', () => {
    fc.assert(
      fc.property(documents, (document) => {
        expect(parseInput(richTextDocument, document)).toEqual(document);
        expect(parseInput(richTextDocument, json(JSON.stringify(document)))).toEqual(json(JSON.stringify(document)));
      }),
    );
  });

  test('the plain text is trimmed and contains every text and mention in order', () => {
    fc.assert(
      fc.property(documents, (document) => {
        const text = toPlainText(document);
        expect(text).toBe(text.trim());
        let from = 0;
        for (const part of partsOf(document.content)) {
          const at = text.indexOf(part.trim(), from);
          expect(at).toBeGreaterThanOrEqual(from);
          from = at + part.trim().length;
        }
      }),
      { numRuns: 500 },
    );
  });
});

function partsOf(content: readonly RichTextNode[]): string[] {
  return content.flatMap((node) => {
    if (node.type === 'text') return [node.text ?? ''];
    if (node.type === 'mention') return [`@${String(node.attrs?.['label'] ?? node.attrs?.['id'])}`];
    return partsOf(node.content ?? []);
  });
}
