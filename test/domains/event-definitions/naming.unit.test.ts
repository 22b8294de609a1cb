import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  NAME_MAX_LENGTH,
  NAME_PATTERN,
  RESERVED_PREFIX,
  baseNameFor,
  definitionNameTaken,
  firstFreeName,
  freePropertyName,
  nameFromLabel,
} from '../../../src/domains/event-definitions/naming.ts';

const kinds = ['event', 'property'] as const;
const kind = fc.constantFrom(...kinds);

// Code units, so that lone surrogates, control characters and astral characters occur. The smaller ranges and the constants
// make labels frequent that give a name, are too long, or need Unicode normalization.
const label = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
      fc.integer({ min: 0x10000, max: 0x10ffff }).map((point) => String.fromCodePoint(point)),
      fc.integer({ min: 0x20, max: 0x24f }).map((unit) => String.fromCharCode(unit)),
      fc.constantFrom('svc', 'SVC_', '_', ' ', 'a', 'Z', '9', 'ß', 'İ', 'ﬃ', 'Ａ', '²', '\u0301'),
    ),
    { maxLength: 120 },
  )
  .map((parts) => parts.join(''));

const baseName = fc
  .tuple(label, kind)
  .map(([text, of]) => nameFromLabel(text, of))
  .filter((name) => name !== undefined);

function expectGenerated(name: string): void {
  expect(name).toMatch(NAME_PATTERN);
  expect(name).not.toMatch(/_$|__/);
  expect(name.length).toBeLessThanOrEqual(NAME_MAX_LENGTH);
}

describe('nameFromLabel', () => {
  test.each([
    ['Product Viewed', 'product_viewed'],
    ['  --Product / (Viewed)!  ', 'product_viewed'],
    ['already_a_name_2', 'already_a_name_2'],
    ['a__b', 'a_b'],
    ["Customer's cart", 'customer_s_cart'],
    ['Größe', 'grosse'],
    ['GRÖẞE', 'grosse'],
    ['Crème brûlée', 'creme_brulee'],
    ['Cre\u0300me bru\u0302le\u0301e', 'creme_brulee'],
    ['Æsir Ǽ œuvre', 'aesir_ae_oeuvre'],
    ['Smørrebrød Ǿ', 'smorrebrod_o'],
    ['Đà Nẵng', 'da_nang'],
    ['Łódź', 'lodz'],
    ['İstanbul ılık', 'istanbul_ilik'],
    ['Ærø, Þór, Ħal, Ŋ', 'aero_thor_hal_n'],
    ['oﬃce ﬁle', 'office_file'],
    ['Ｆｕｌｌ　ｗｉｄｔｈ ４２', 'full_width_42'],
    ['𝐁𝐨𝐥𝐝 𝟙', 'bold_1'],
    ['m² ½ ①', 'm2_1_2_1'],
    ['Brand™', 'brandtm'],
    ['300 \u212a', 'e_300_k'],
    ['2nd visit', 'e_2nd_visit'],
    ['Заказ order 注文', 'order'],
    ['٣ items', 'items'],
    ['ok 👍🏽 done', 'ok_done'],
    ['lone \ud83d half', 'lone_half'],
    ['svc_browser', 'svc_browser'],
  ])('%j names an event %s', (text, name) => {
    expect(nameFromLabel(text, 'event')).toBe(name);
  });

  test.each([
    ['Order total', 'order_total'],
    ['2nd visit', 'p_2nd_visit'],
    ['svc_browser', 'p_svc_browser'],
    ['SVC Browser', 'p_svc_browser'],
    ['hs_browser', 'p_hs_browser'],
    ['hs_other', 'hs_other'],
    ['-svc-', 'svc'],
    ['Service', 'service'],
    ['svcs', 'svcs'],
  ])('%j names a property %s', (text, name) => {
    expect(nameFromLabel(text, 'property')).toBe(name);
  });

  test.each(['', ' ', '_', '!?', 'Заказ', '注文', '٣', '👍', '\ud83d', '\u0301', '\u0000'])(
    '%j gives no name',
    (text) => {
      expect(kinds.map((of) => nameFromLabel(text, of))).toEqual([undefined, undefined]);
    },
  );

  test('a long label is cut to 50 characters, and never ends with a separator', () => {
    expect(nameFromLabel('x'.repeat(100), 'event')).toBe('x'.repeat(50));
    expect(nameFromLabel(`${'x'.repeat(49)} y`, 'event')).toBe('x'.repeat(49));
    expect(nameFromLabel('7'.repeat(100), 'property')).toBe(`p_${'7'.repeat(48)}`);
    expect(nameFromLabel(`${'7'.repeat(47)} y`, 'property')).toBe(`p_${'7'.repeat(47)}`);
  });

  test('any label gives no name or a valid one; the same label gives the same name, and a name used as label gives itself', () => {
    fc.assert(
      fc.property(label, kind, (text, of) => {
        const name = nameFromLabel(text, of);
        if (name === undefined) return;
        expectGenerated(name);
        expect(of === 'property' && name.startsWith(RESERVED_PREFIX)).toBe(false);
        expect(nameFromLabel(text, of)).toBe(name);
        expect(nameFromLabel(name, of)).toBe(name);
      }),
      { numRuns: 2000 },
    );
  });

  test('the composed and decomposed Unicode forms of a label give the same name', () => {
    fc.assert(
      fc.property(label, kind, (text, of) => {
        expect(nameFromLabel(text.normalize('NFD'), of)).toBe(nameFromLabel(text.normalize('NFC'), of));
      }),
      { numRuns: 1000 },
    );
  });

  test('an ASCII label gives its words in lower case, joined by underscores', () => {
    const words = fc.array(fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,5}$/), { minLength: 1, maxLength: 7 });
    const separator = fc.stringMatching(/^[ -/:-@[-`{-~]{1,3}$/);
    fc.assert(
      fc.property(words, separator, (parts, between) => {
        expect(nameFromLabel(parts.join(between), 'event')).toBe(parts.join('_').toLowerCase());
      }),
    );
  });
});

test('baseNameFor throws for a label that gives no name, because validation should have refused it', () => {
  expect(baseNameFor('2nd visit', 'event')).toBe('e_2nd_visit');
  expect(() => baseNameFor('!?', 'event')).toThrow(new Error('the schema accepted a label that gives no name'));
});

test('the error of a taken name states whether it was used before', () => {
  expect(definitionNameTaken('order')).toMatchObject({
    reason: 'NAME_TAKEN',
    inputPath: ['name'],
    message: 'name: order already exists as the name of another event definition; choose another name',
  });
  expect(definitionNameTaken('order', true)).toMatchObject({
    reason: 'NAME_USED_BEFORE',
    inputPath: ['name'],
    message: 'name: order was used by a deleted event definition and can never be used again; choose another name',
  });
});

describe('firstFreeName', () => {
  test('an available name is kept, and one that is taken gets the first available number', () => {
    expect(firstFreeName('order', new Set())).toBe('order');
    expect(firstFreeName('order', new Set(['order']))).toBe('order_2');
    expect(firstFreeName('order', new Set(['order', 'order_2', 'order_4']))).toBe('order_3');
    expect(firstFreeName('order', new Set(['order_2']))).toBe('order');
  });

  test('a long name is cut to make room for the number, without a double underscore', () => {
    const long = 'x'.repeat(50);
    expect(firstFreeName(long, new Set([long]))).toBe(`${'x'.repeat(48)}_2`);
    const separatorAtTheCut = `${'x'.repeat(47)}_yy`;
    expect(firstFreeName(separatorAtTheCut, new Set([separatorAtTheCut]))).toBe(`${'x'.repeat(47)}_2`);
  });

  test('many requests for one base name all get different valid names', () => {
    fc.assert(
      fc.property(baseName, (base) => {
        const taken = new Set<string>();
        for (let taker = 1; taker <= 120; taker += 1) {
          const name = firstFreeName(base, taken);
          expectGenerated(name);
          taken.add(name);
          expect(taken.size).toBe(taker);
        }
      }),
      { numRuns: 50 },
    );
  });

  test('a generated property name with a number never starts with the reserved prefix', () => {
    fc.assert(
      fc.property(label, (text) => {
        const base = nameFromLabel(text, 'property');
        if (base === undefined) return;
        const name = freePropertyName(text, new Set([base]));
        expectGenerated(name);
        expect([name === base, name.startsWith(RESERVED_PREFIX)]).toEqual([false, false]);
      }),
      { examples: [['svc'], ['SVC!']] },
    );
    expect(freePropertyName('svc', new Set())).toBe('svc');
    expect(freePropertyName('svc', new Set(['svc']))).toBe('p_svc');
    expect(freePropertyName('svc', new Set(['svc', 'p_svc']))).toBe('p_svc_2');
  });
});
