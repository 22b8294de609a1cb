import { describe, expect, test } from 'vitest';
import { parseInput } from '../../../src/core/input/validation.ts';
import { richTextDocument } from '../../../src/domains/sessions/rich-text.ts';
import { ADDRESS_RULE, block, doc, everyKind, json, link, messageOf, words } from '../../support/fixtures/rich-text.ts';

/** A node with nodes nested in it, `levels` deep. */
function nested(levels: number): object {
  let node: object = { type: 'listItem' };
  for (let level = 1; level < levels; level += 1) node = { type: 'listItem', content: [node] };
  return node;
}

describe('a document', () => {
  test('with every type of node is accepted and returned unchanged', () => {
    expect(parseInput(richTextDocument, everyKind)).toEqual(everyKind);
    expect(parseInput(richTextDocument, doc())).toEqual(doc());
  });

  test.each([
    [5, 'richContent: must be an object'],
    [[], 'richContent: must be an object'],
    [{}, 'richContent.type: is required; richContent.content: is required'],
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
  ])('%j is refused with path and rule', (document, message) => {
    expect(messageOf(document)).toBe(message);
  });

  test.each<[object, string, number?]>([
    [doc(nested(51)), 'TOO_MANY', 50],
    [
      doc(...Array.from({ length: 7 }, () => block(...Array.from({ length: 8_000 }, () => ({ type: 'x' }))))),
      'TOO_MANY',
      50_000,
    ],
    [doc({ type: 'text' }), 'REQUIRED'],
    [doc({ type: 'text', text: 'a', attrs: {} }), 'CONFLICTING'],
    [doc({ type: 'text', text: 'a', content: [] }), 'CONFLICTING'],
    [doc({ type: 'paragraph', text: 'a' }), 'CONFLICTING'],
    [doc({ type: 'image', attrs: [] }), 'WRONG_TYPE'],
    [doc({ type: 'image', attrs: { src: 'javascript:alert(1)' } }), 'BAD_FORMAT'],
    [doc({ type: 'x', attrs: json('{"a":1e999}') }), 'NOT_ALLOWED'],
    [doc({ type: 'x', attrs: json('{"__proto__":1}') }), 'NOT_ALLOWED'],
    [doc({ type: 'x', attrs: json(`{"a":${'['.repeat(10)}${']'.repeat(10)}}`) }), 'TOO_MANY', 10],
    [doc({ type: 'x', attrs: { a: 'a'.repeat(1_000_001) } }), 'TOO_LONG', 1_000_000],
    [doc({ type: 'x', attrs: { a: '\0' } }), 'BAD_FORMAT'],
  ])('with one fault is refused with its code and limit (%#)', (document, code, limit) => {
    expect(() => parseInput(richTextDocument, document)).toThrow(
      expect.objectContaining({ faults: [expect.objectContaining({ code, ...(limit && { limit }) })] }),
    );
  });

  test('reports all its faults together, in inner and outer nodes', () => {
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
  test('nodes can be nested 50 deep; the 51st is refused with its path', () => {
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
    const deepest = json(`{"a":${'['.repeat(9)}true${']'.repeat(9)}}`);
    expect(messageOf(doc({ type: 'x', attrs: deepest }))).toBe('accepted');
    const marks = [{ type: 'x', attrs }];
    expect(messageOf(doc({ type: 'x', marks }))).toBe(
      `richContent.content.0.marks.0.attrs.a${'.0'.repeat(9)}: must not be nested deeper than 10 levels`,
    );
  });

  test('the numbers of children and marks and the length of texts are limited', () => {
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

  test('the number of nodes and marks of the whole document is limited', () => {
    const blocks = Array.from({ length: 7 }, () => block(...Array.from({ length: 7_000 }, () => ({ type: 'x' }))));
    const rest = 50_000 - 7 * 7_001 - 2;
    const marks = Array.from({ length: rest }, () => ({ type: 'x' }));
    expect(messageOf(doc(...blocks, words('a', ...marks)))).toBe('accepted');
    expect(messageOf(doc(...blocks, words('a', ...marks, { type: 'x' })))).toBe(
      'richContent: must have at most 50000 nodes and marks',
    );
  });

  test('attributes, and the objects in them, have at most 500 properties, and lists in them 10,000 items', () => {
    const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, 1]));
    const items = (count: number) => Array.from({ length: count }, () => 1);
    const faultOf = (attrs: object) => messageOf(doc({ type: 'x', attrs }));
    expect([faultOf(named(500)), faultOf({ in: named(500) }), faultOf({ in: items(10_000) })]).toEqual(
      Array.from({ length: 3 }, () => 'accepted'),
    );
    const place = 'richContent.content.0.attrs';
    expect([faultOf(named(501)), faultOf({ in: named(501) }), faultOf({ in: items(10_001) })]).toEqual([
      `${place}: must have at most 500 properties`,
      `${place}.in: must have at most 500 properties`,
      `${place}.in: must have at most 10000 items`,
    ]);
  });

  test('at most twenty faults of a document are reported, and the others counted', () => {
    const message = messageOf(doc(...Array.from({ length: 5000 }, () => ({}))));
    expect(message.split('; ')).toHaveLength(21);
    expect(message).toMatch(/; and 4980 more$/);
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
      'must have property names of at most 100 characters, of well-formed text without NUL characters, and not __proto__';
    expect(messageOf(doc(json('{"type":"x","attrs":{"__proto__":{"x":1}}}')))).toBe(
      `richContent.content.0.attrs: ${rule}`,
    );
    expect(messageOf(doc(json('{"type":"x","attrs":{"a":[{"__proto__":1}]}}')))).toBe(
      `richContent.content.0.attrs.a.0: ${rule}`,
    );
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  test.each(['\0', '\ud800', 'a\udc00'])('text that cannot be stored, such as %j, is refused at any place', (text) => {
    const rule = 'must be well-formed text without NUL characters';
    expect(messageOf(doc(words(text)))).toBe(`richContent.content.0.text: ${rule}`);
    expect(messageOf(doc({ type: text }))).toBe(`richContent.content.0.type: ${rule}`);
    expect(messageOf(doc({ type: 'x', attrs: { a: { b: text } } }))).toBe(`richContent.content.0.attrs.a.b: ${rule}`);
    expect(messageOf(doc({ type: 'x', attrs: { [text]: 1 } }))).toMatch(
      /^richContent\.content\.0\.attrs: must have property names/,
    );
  });

  test('a number that JSON cannot represent is refused', () => {
    expect(messageOf(doc(json('{"type":"x","attrs":{"a":1e999}}')))).toBe(
      'richContent.content.0.attrs.a: must be a finite number',
    );
  });
});
