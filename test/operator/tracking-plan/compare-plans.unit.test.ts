import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkValue } from '../../../src/domains/event-occurrences/property-values.ts';
import { PROPERTY_TYPES } from '../../../src/domains/event-definitions/property-types.ts';
import { comparePlans, describeDifferences } from '../../../src/operator/tracking-plan/compare-plans.ts';
import { parsePlan } from '../../../src/operator/tracking-plan/plan-file.ts';
import { fileOf, manyEvents } from '../../support/fixtures/tracking-plans.ts';
import { sampledRuns } from '../../support/sample.ts';

const planOf = (events: object) => parsePlan(fileOf(events), 'plan.yaml');
const differences = (before: object, after: object) => comparePlans(planOf(before), planOf(after));
const described = (before: object, after: object) => describeDifferences(differences(before, after));

const color = {
  label: 'Color',
  type: 'enumeration',
  options: ['red', 'blue'].map((value) => ({ value, label: value })),
};
const base = { label: 'A', properties: { price: { label: 'Price', type: 'number' }, color } };

test('what adds something or changes texts is no breaking change', () => {
  const after = {
    a: {
      label: 'Renamed',
      description: 'New text',
      properties: {
        price: { label: 'Net price', type: 'string' },
        color: { ...color, options: [{ value: 'green', label: 'Green' }, ...color.options] },
        size: { label: 'Size', type: 'string' },
      },
    },
    b: { label: 'B' },
  };
  expect(described({ a: base }, after)).toMatchInlineSnapshot(`
    "~ a.label: "A" -> "Renamed"
    ~ a.description: "" -> "New text"
    + a.properties.color.options: "green"
    ~ a.properties.price.label: "Price" -> "Net price"
    ~ a.properties.price.type: "number" -> "string"
    + a.properties.size: string
    + b: event
    7 differences, 0 breaking
    "
  `);
  const reordered = {
    a: { ...base, properties: { ...base.properties, color: { ...color, options: color.options.toReversed() } } },
  };
  expect(described({ a: base }, reordered)).toMatchInlineSnapshot(`
    "~ a.properties.color.options: labels, descriptions or order
    1 difference, 0 breaking
    "
  `);
  expect(described({ a: base }, { a: base })).toBe('no differences\n');
});

test('what could refuse an accepted occurrence is a breaking change, and so is what the gateway refuses', () => {
  const after = {
    a: {
      label: 'A',
      primaryObject: 'ORDER',
      includeDefaultProperties: false,
      customMatchingId: { targetObjectPropertyName: 'sku', eventPropertyName: 'price' },
      properties: { price: { label: 'Price', type: 'number' }, color: { ...color, options: color.options.slice(1) } },
    },
  };
  expect(described({ a: base, b: { label: 'B' } }, after)).toMatchInlineSnapshot(`
    "~ a.primaryObject: "CONTACT" -> "ORDER" [breaking: never changes once the event exists; plan another event]
    ~ a.customMatchingId: none -> {"targetObjectPropertyName":"sku","eventPropertyName":"price"} [breaking: never changes once the event exists; plan another event]
    ~ a.includeDefaultProperties: true -> false [breaking: never changes once the event exists; plan another event]
    - a.properties.color.options: "red" [breaking: occurrences with this value are refused]
    - b: event [breaking: its occurrences are refused]
    5 differences, 5 breaking
    "
  `);
  const narrowed = { a: { ...base, properties: { color: { ...color, type: 'bool', options: [] } } } };
  expect(described({ a: base }, narrowed)).toMatchInlineSnapshot(`
    "~ a.properties.color.type: "enumeration" -> "bool" [breaking: values of enumeration can be refused]
    - a.properties.price: number [breaking: occurrences with price are refused]
    2 differences, 2 breaking
    "
  `);
});

test('an enumeration can become text unless an option is too long for it', () => {
  const ofOption = (value: string, name = 'size') => ({
    a: { label: 'A', properties: { [name]: { label: 'X', type: 'enumeration', options: [{ value, label: 'x' }] } } },
  });
  const text = (name = 'size') => ({ a: { label: 'A', properties: { [name]: { label: 'X', type: 'string' } } } });
  const isBreaking = (before: object, after: object) =>
    differences(before, after).some(({ breaking }) => breaking !== undefined);
  expect(isBreaking(ofOption('x'.repeat(256)), text())).toBe(false);
  expect(isBreaking(ofOption('x'.repeat(257)), text())).toBe(true);
  expect(isBreaking(ofOption('x'.repeat(1000), 'size_url'), text('size_url'))).toBe(false);
});

test('a value that the old property accepts is accepted after every change that is not breaking', () => {
  const property = fc
    .record({
      type: fc.constantFrom(...PROPERTY_TYPES),
      values: fc.uniqueArray(fc.constantFrom('true', 'false', '1', '2026-01-01', 'red'), { minLength: 1 }),
    })
    .map(({ type, values }) => ({
      label: 'P',
      type,
      ...(type === 'enumeration' && { options: values.map((value) => ({ value, label: value })) }),
    }));
  const moment = fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true });
  const value = fc.oneof(
    fc.constantFrom(true, false, 'true', 'false', 1, '1', 'red', '2026-01-01'),
    fc.integer({ min: 0, max: 1e12 }),
    fc.integer({ min: -1e6, max: 1e6 }).map((tenths) => tenths / 10),
    moment.map((at) => at.toISOString()),
    moment.map((at) => Math.floor(at.getTime() / 86_400_000) * 86_400_000),
    fc.string({ maxLength: 300 }),
  );
  const runs = sampledRuns(3_000, 300);
  let kept = 0;
  fc.assert(
    fc.property(property, property, value, (old, planned, given) => {
      const [found] = differences(
        { a: { label: 'A', properties: { p: old } } },
        { a: { label: 'A', properties: { p: planned } } },
      );
      const accepts = (each: typeof old) =>
        'value' in
        checkValue({ name: 'p', type: each.type, options: 'options' in each ? (each.options ?? []) : [] }, given);
      if (found?.breaking !== undefined || !accepts(old)) return;
      kept += 1;
      expect(accepts(planned)).toBe(true);
    }),
    { numRuns: runs },
  );
  expect(kept).toBeGreaterThan(runs / 15);
});

test('200 events are compared by name, whatever their order', () => {
  const events = manyEvents(200);
  const reversed = Object.fromEntries(Object.entries(events).toReversed());
  expect(described(events, reversed)).toBe('no differences\n');
});
