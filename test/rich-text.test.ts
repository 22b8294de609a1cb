import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parseInput } from '../src/core/validation.ts';
import { type RichTextNode, richTextDocument, toPlainText } from '../src/domains/sessions/rich-text.ts';

const input = z.strictObject({ richContent: richTextDocument });

function messageOf(richContent: unknown): string {
  try {
    parseInput(input, { richContent });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'accepted';
}

const doc = (...content: unknown[]) => ({ type: 'doc', content });
const block = (...content: unknown[]) => ({ type: 'paragraph', content });
const words = (text: string, ...marks: unknown[]) => ({ type: 'text', text, ...(marks.length > 0 && { marks }) });
const link = (href: unknown) => ({ type: 'link', attrs: { href } });
const image = (src: unknown) => ({ type: 'image', attrs: { src } });
const json = (text: string): unknown => JSON.parse(text);

function plain(...content: unknown[]): string {
  return toPlainText(parseInput(richTextDocument, doc(...content)));
}

/** The node below `levels` others. */
function nested(levels: number): object {
  let node: object = { type: 'listItem' };
  for (let level = 1; level < levels; level += 1) node = { type: 'listItem', content: [node] };
  return node;
}

const ADDRESS_RULE =
  'must be an http, https or mailto address or a relative one, of 1 to 8192 characters, without whitespace, control characters or backslashes';

const everyKind = doc(
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

describe('a document', () => {
  test('of every kind of node is accepted and given back as it came', () => {
    expect(parseInput(richTextDocument, everyKind)).toEqual(everyKind);
    expect(parseInput(richTextDocument, doc())).toEqual(doc());
  });

  test.each([
    [5, 'richContent: must be an object'],
    [[], 'richContent: must be an object'],
    [{}, 'richContent.type: must be one of "doc"; richContent.content: is required'],
    [{ type: 'doc', content: {} }, 'richContent.content: must be an array'],
    [{ type: 'paragraph', content: [] }, 'richContent.type: must be one of "doc"'],
    [
      { ...doc(), attrs: {}, version: 1 },
      'richContent.attrs: is not a known property; richContent.version: is not a known property',
    ],
    [doc(null), 'richContent.content.0: must be an object'],
    [doc({}), 'richContent.content.0.type: is required'],
    [doc({ type: 5 }), 'richContent.content.0.type: must be a string'],
    [doc({ type: '' }), 'richContent.content.0.type: must not be empty'],
    [doc({ type: 'x'.repeat(101) }), 'richContent.content.0.type: must be at most 100 characters'],
    [
      doc({ type: 'x', content: null, marks: null, attrs: null }),
      'richContent.content.0.content: must be an array; richContent.content.0.marks: must be an array; richContent.content.0.attrs: must be an object',
    ],
    [doc({ type: 'x', attrs: [] }), 'richContent.content.0.attrs: must be an object'],
    [doc({ type: 'heading', level: 2, attrs: { level: 2 } }), 'richContent.content.0.level: is not a known property'],
    [doc({ type: 'heading' }), 'richContent.content.0.attrs.level: is required'],
    [doc({ type: 'heading', attrs: { level: 0 } }), 'richContent.content.0.attrs.level: must be at least 1'],
    [doc({ type: 'heading', attrs: { level: 7 } }), 'richContent.content.0.attrs.level: must be at most 6'],
    [doc({ type: 'heading', attrs: { level: 1.5 } }), 'richContent.content.0.attrs.level: must be an integer'],
    [doc({ type: 'orderedList', attrs: { start: '1' } }), 'richContent.content.0.attrs.start: must be a number'],
    [doc({ type: 'taskItem', attrs: { checked: 'yes' } }), 'richContent.content.0.attrs.checked: must be a boolean'],
    [
      doc({ type: 'codeBlock', attrs: { language: 'x'.repeat(101) } }),
      'richContent.content.0.attrs.language: must be at most 100 characters',
    ],
    [doc({ type: 'image' }), 'richContent.content.0.attrs.src: is required'],
    [doc({ type: 'mention' }), 'richContent.content.0.attrs.id: is required'],
    [doc({ type: 'mention', attrs: { id: '' } }), 'richContent.content.0.attrs.id: must not be empty'],
    [doc({ type: 'text' }), 'richContent.content.0.text: is required for the type text'],
    [doc({ type: 'text', text: 5 }), 'richContent.content.0.text: must be a string'],
    [doc({ type: 'text', text: 'a', attrs: {} }), 'richContent.content.0.attrs: must not be given for the type text'],
    [
      doc({ type: 'text', text: 'a', content: [] }),
      'richContent.content.0.content: must not be given for the type text',
    ],
    [doc({ type: 'paragraph', text: 'a' }), 'richContent.content.0.text: is only for the type text'],
    [doc(words('a', { type: 'link' })), 'richContent.content.0.marks.0.attrs.href: is required'],
    [
      doc(words('a', { type: 'link', href: '/' })),
      'richContent.content.0.marks.0.href: is not a known property; richContent.content.0.marks.0.attrs.href: is required',
    ],
    [doc(words('a', 'bold')), 'richContent.content.0.marks.0: must be an object'],
  ])('%j is refused by its path and rule', (document, message) => {
    expect(messageOf(document)).toBe(message);
  });

  test('tells all its faults together, in its nodes and in what encloses them', () => {
    const faulty = doc({
      type: 'heading',
      attrs: { level: 9 },
      content: [words('a', { type: 'bold' }, link('javascript:alert(1)')), { type: 'text', text: 5 }],
    });
    expect(messageOf(faulty).split('; ').toSorted()).toEqual([
      'richContent.content.0.attrs.level: must be at most 6',
      `richContent.content.0.content.0.marks.1.attrs.href: ${ADDRESS_RULE}`,
      'richContent.content.0.content.1.text: must be a string',
    ]);
  });
});

describe('bounds', () => {
  test('50 nodes below the document are accepted, the 51st is refused by its path', () => {
    expect(messageOf(doc(nested(50)))).toBe('accepted');
    const path = `richContent.${Array.from({ length: 51 }, () => 'content.0').join('.')}`;
    expect(messageOf(doc(nested(51)))).toBe(`${path}: must not be nested deeper than 50 nodes below the document`);
  });

  test.each([1_000, 100_000])('%i nested nodes, or levels of attributes, do not overflow the stack', (levels) => {
    expect(messageOf(doc(nested(levels)))).toMatch(/: must not be nested deeper than 50 nodes below the document$/);
    const attrs = json(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`);
    expect(messageOf(doc({ type: 'x', attrs }))).toBe(
      `richContent.content.0.attrs.a${'.0'.repeat(9)}: must not be nested deeper than 10 levels`,
    );
    const marks = [{ type: 'x', attrs }];
    expect(messageOf(doc({ type: 'x', marks }))).toBe(
      `richContent.content.0.marks.0.attrs.a${'.0'.repeat(9)}: must not be nested deeper than 10 levels`,
    );
  });

  test('children, marks and texts are counted', () => {
    const many = (count: number, item: unknown) => Array.from({ length: count }, () => item);
    expect(messageOf(doc(...many(10_000, { type: 'x' })))).toBe('accepted');
    expect(messageOf(doc(...many(10_001, { type: 'x' })))).toBe('richContent.content: must have at most 10000 items');
    expect(messageOf(doc(block(...many(10_001, { type: 'x' }))))).toBe(
      'richContent.content.0.content: must have at most 10000 items',
    );
    expect(messageOf(doc(words('a', ...many(1000, { type: 'x' }))))).toBe('accepted');
    expect(messageOf(doc(words('a', ...many(1001, { type: 'x' }))))).toBe(
      'richContent.content.0.marks: must have at most 1000 items',
    );
    expect(messageOf(doc(words('a'.repeat(1_000_000))))).toBe('accepted');
    expect(messageOf(doc(words('a'.repeat(1_000_001))))).toBe(
      'richContent.content.0.text: must be at most 1000000 characters',
    );
    expect(messageOf(doc({ type: 'x', attrs: { a: 'a'.repeat(1_000_001) } }))).toBe(
      'richContent.content.0.attrs.a: must be at most 1000000 characters',
    );
  });

  test('nodes and marks are counted over the whole document', () => {
    const blocks = Array.from({ length: 7 }, () => block(...Array.from({ length: 7_000 }, () => ({ type: 'x' }))));
    const rest = 50_000 - 7 * 7_001 - 2;
    const marks = Array.from({ length: rest }, () => ({ type: 'x' }));
    expect(messageOf(doc(...blocks, words('a', ...marks)))).toBe('accepted');
    expect(messageOf(doc(...blocks, words('a', ...marks, { type: 'x' })))).toBe(
      'richContent: must have at most 50000 nodes and marks',
    );
  });

  test('a document full of faults is answered with a hundred of them', () => {
    const message = messageOf(doc(...Array.from({ length: 5000 }, () => ({}))));
    expect(message.split('; ')).toHaveLength(101);
    expect(message).toMatch(/; and 4900 more$/);
  });
});

const unsafe = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  'java\tscript:alert(1)',
  'java\nscript:alert(1)',
  '\u0001javascript:alert(1)',
  '\u00a0javascript:alert(1)',
  '\ufeffjavascript:alert(1)',
  'java\u00adscript:alert(1)',
  'javascript\u200b:alert(1)',
  'javascript://example.com/%0aalert(1)',
  'data:text/html,<script>alert(1)</script>',
  'data:image/png;base64,AAAA',
  'vbscript:msgbox(1)',
  'file:///etc/passwd',
  'ftp://example.com',
  'blob:https://example.com/x',
  'tel:123',
  'about:blank',
  'view-source:https://example.com',
  'unknown:thing',
  ':',
  '://example.com',
  '//example.com',
  '///example.com',
  '\\\\example.com',
  '/\\example.com',
  '\\/example.com',
  '/\t/example.com',
  'https:example.com',
  'https:/example.com',
  'https:///example.com',
  'https://',
  'http://[::1',
  'https:\\\\example.com',
  'https://example.com/a b',
  'https://example.com/\u202egnp.exe',
  'https://example.com/\0',
  '\ud800',
  'mailto:',
  '',
  ' ',
  `/${'a'.repeat(8192)}`,
];

const safe = [
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

describe('addresses', () => {
  test.each(unsafe)('%j is refused of a link and of an image', (address) => {
    expect(messageOf(doc(words('a', link(address))))).toBe(`richContent.content.0.marks.0.attrs.href: ${ADDRESS_RULE}`);
    expect(messageOf(doc(image(address)))).toBe(`richContent.content.0.attrs.src: ${ADDRESS_RULE}`);
  });

  test.each(safe)('%j is accepted of a link and of an image', (address) => {
    expect(messageOf(doc(words('a', link(address)), image(address)))).toBe('accepted');
  });

  test('are checked on every node and mark, however it is called and however deep they stand', () => {
    const bad = 'javascript:alert(1)';
    expect(messageOf(doc({ type: 'iframe', attrs: { SRC: bad } }))).toBe(
      `richContent.content.0.attrs.SRC: ${ADDRESS_RULE}`,
    );
    expect(messageOf(doc({ type: 'card', attrs: { items: [{ url: [bad] }] } }))).toBe(
      `richContent.content.0.attrs.items.0.url.0: ${ADDRESS_RULE}`,
    );
    expect(messageOf(doc(words('a', { type: 'Link', attrs: { href: bad } })))).toBe(
      `richContent.content.0.marks.0.attrs.href: ${ADDRESS_RULE}`,
    );
    expect(messageOf(doc({ type: 'card', attrs: { href: null, note: bad } }))).toBe('accepted');
  });

  test('that are accepted lead, by the URL Standard, to http, https or mailto, and a relative one stays on its host', () => {
    const part = fc.constantFrom(
      'javascript',
      'data',
      'http',
      'https',
      'mailto',
      ':',
      '/',
      '//',
      '\\',
      '\t',
      '\n',
      ' ',
      '\u0000',
      '\u200b',
      '?',
      '#',
      '@',
      '.',
      '%0a',
      'a.example',
      'é',
    );
    const address = fc.oneof(
      fc.array(part, { maxLength: 7 }).map((parts) => parts.join('')),
      fc.webUrl(),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(address, (href) => {
        if (messageOf(doc(words('a', link(href)))) !== 'accepted') return;
        const { protocol, host } = new URL(href, 'https://page.example/dir/');
        expect(['http:', 'https:', 'mailto:']).toContain(protocol);
        if (!/^(?:https?:\/\/|mailto:)/i.test(href)) expect(host).toBe('page.example');
      }),
      { numRuns: 2000 },
    );
  });
});

describe('hostile values', () => {
  test('__proto__ is refused at every depth and changes no prototype', () => {
    expect(messageOf(json('{"type":"doc","content":[],"__proto__":{"x":1}}'))).toBe(
      'richContent.__proto__: is not a known property',
    );
    expect(messageOf(doc(json('{"type":"x","__proto__":{"x":1}}')))).toBe(
      'richContent.content.0.__proto__: is not a known property',
    );
    const rule =
      'must name its properties in at most 100 characters of well-formed text without NUL, none of them __proto__';
    expect(messageOf(doc(json('{"type":"x","attrs":{"__proto__":{"x":1}}}')))).toBe(
      `richContent.content.0.attrs: ${rule}`,
    );
    expect(messageOf(doc(json('{"type":"x","attrs":{"a":[{"__proto__":1}]}}')))).toBe(
      `richContent.content.0.attrs.a.0: ${rule}`,
    );
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  test.each(['\0', '\ud800', 'a\udc00'])(
    'text that cannot be stored, such as %j, is refused wherever it stands',
    (text) => {
      const rule = 'must be well-formed text without NUL characters';
      expect(messageOf(doc(words(text)))).toBe(`richContent.content.0.text: ${rule}`);
      expect(messageOf(doc({ type: text }))).toBe(`richContent.content.0.type: ${rule}`);
      expect(messageOf(doc({ type: 'x', attrs: { a: { b: text } } }))).toBe(`richContent.content.0.attrs.a.b: ${rule}`);
      expect(messageOf(doc({ type: 'x', attrs: { [text]: 1 } }))).toMatch(
        /^richContent\.content\.0\.attrs: must name its properties/,
      );
    },
  );

  test('a number that JSON cannot write is refused', () => {
    expect(messageOf(doc(json('{"type":"x","attrs":{"a":1e999}}')))).toBe(
      'richContent.content.0.attrs.a: must be a finite number',
    );
  });
});

describe('plain text', () => {
  test('has a line for every block', () => {
    expect(toPlainText(parseInput(richTextDocument, everyKind))).toBe(
      'Title\nSee here\n@AdaLogo\nthird\ndone\nlet a;\nlet b;',
    );
  });

  test.each<[string, unknown[], string]>([
    ['nothing', [], ''],
    ['only what has no text', [block(), { type: 'horizontalRule' }, block(words('  '))], ''],
    ['text cut into pieces', [block(words('a'), words('b', { type: 'bold' }))], 'ab'],
    ['an empty paragraph between two', [block(words('a')), block(), block(words('b'))], 'a\n\nb'],
    ['a mention without label', [block({ type: 'mention', attrs: { id: 'u1', label: null } })], '@u1'],
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
    ['an unknown node among text', [block(words('a'), { type: 'emoji', attrs: { name: 'x' } }, words('b'))], 'ab'],
    ['whitespace at the ends', [block(words('  a ')), block(words(' b  '))], 'a \n b'],
  ])('of %s', (_, content, expected) => {
    expect(plain(...content)).toBe(expected);
  });
});

/** Documents of any shape that the schema allows. */
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
  test('the schema gives back what it takes, also through JSON', () => {
    fc.assert(
      fc.property(documents, (document) => {
        expect(parseInput(richTextDocument, document)).toEqual(document);
        expect(parseInput(richTextDocument, json(JSON.stringify(document)))).toEqual(json(JSON.stringify(document)));
      }),
    );
  });

  test('the plain text is trimmed and holds every text and mention, in their order', () => {
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
