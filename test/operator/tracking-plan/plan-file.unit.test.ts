import { expect, test } from 'vitest';
import { decodePlan, parsePlan, printPlan } from '../../../src/operator/tracking-plan/plan-file.ts';
import { fileOf, manyEvents } from '../../support/fixtures/tracking-plans.ts';

const refusalOf = (text: string): string => {
  try {
    parsePlan(text, 'plan.yaml');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'accepted';
};

test('a plan has one file: sorted by name, with defaults shown, and equal after it was read again', () => {
  const events = {
    shown: { label: 'Shown' },
    paid: {
      label: 'Paid',
      description: 'Two\nlines',
      primaryObject: 'order_of_shop',
      includeDefaultProperties: false,
      customMatchingId: { targetObjectPropertyName: 'number', eventPropertyName: 'number' },
      properties: {
        total: { label: 'Total', type: 'number' },
        number: { label: 'Number', type: 'string', description: 'Printed on the bill.' },
        express: {
          label: 'Express',
          type: 'enumeration',
          options: [
            { value: 'no', label: 'No' },
            { value: true, label: 'Yes', hidden: true, displayOrder: 7, description: 'Costs more.' },
          ],
        },
      },
    },
  };
  const printed = printPlan(parsePlan(fileOf(events), 'plan.yaml'));
  expect(printed).toMatchInlineSnapshot(`
    "version: 1
    events:
      paid:
        label: Paid
        description: |-
          Two
          lines
        primaryObject: order_of_shop
        customMatchingId:
          targetObjectPropertyName: number
          eventPropertyName: number
        includeDefaultProperties: false
        properties:
          express:
            label: Express
            type: enumeration
            options:
              - value: "no"
                label: "No"
              - value: "true"
                label: "Yes"
                description: Costs more.
                hidden: true
                displayOrder: 7
          number:
            label: Number
            type: string
            description: Printed on the bill.
          total:
            label: Total
            type: number
      shown:
        label: Shown
        primaryObject: CONTACT
        includeDefaultProperties: true
    "
  `);
  expect(printPlan(parsePlan(printed, 'plan.yaml'))).toBe(printed);
  const reversed = Object.fromEntries(Object.entries(events).toReversed());
  expect(printPlan(parsePlan(fileOf(reversed), 'plan.yaml'))).toBe(printed);
});

test('200 events are the same after they were printed and read', () => {
  const plan = parsePlan(fileOf(manyEvents(200)), 'plan.yaml');
  expect(parsePlan(printPlan(plan), 'plan.yaml')).toEqual(plan);
});

test('each fault is named by its position in the file, with the rule of the gateway', () => {
  const price = { label: 'Price', type: 'number' };
  const faulty = {
    Upper: { label: 'x' },
    __proto__x: { label: 'x' },
    a: { label: '', unknown: 1, properties: { price: { label: 'Price', type: 'money' }, svc_x: price } },
    b: { label: 'B', propertyDefinitions: [] },
    c: { label: 'C', properties: { price: { ...price, name: 'price' } } },
    d: { label: 'D', customMatchingId: { targetObjectPropertyName: 'n', eventPropertyName: 'none' } },
    e: null,
    f: { label: 'F', properties: [price] },
    g: { label: 'G', properties: { color: { label: 'Color', type: 'enumeration', options: [] } } },
  };
  expect(refusalOf(fileOf(faulty))).toMatchInlineSnapshot(`
    "plan.yaml: events.Upper: must start with a letter and contain only lowercase letters, digits and underscores
    plan.yaml: events.__proto__x: must start with a letter and contain only lowercase letters, digits and underscores
    plan.yaml: events.a.label: must not be empty
    plan.yaml: events.a.properties.price.type: must be one of "bool", "date", "datetime", "enumeration", "number", "string"
    plan.yaml: events.a.properties.svc_x: must not start with svc_, which is reserved for default properties
    plan.yaml: events.a.unknown: is not a known property
    plan.yaml: events.b.propertyDefinitions: is not a known property
    plan.yaml: events.c.properties.price.name: is not a known property
    plan.yaml: events.d.customMatchingId.eventPropertyName: must be the name of a property of this definition; there is no property none
    plan.yaml: events.e: must be an object with a label
    plan.yaml: events.f.properties: must be an object
    plan.yaml: events.g.properties.color.options: must have at least 1 item"
  `);
});

test('other files are refused with one line', () => {
  const aliases = `version: 1\na: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nevents: {a: [*c, *c, *c, *c, *c, *c, *c, *c]}`;
  const withOption = (value: string) =>
    `{"version": 1, "events": {"a": {"label": "A", "properties": {"p": {"label": "P", "type": "enumeration", "options": [{"label": "O", "value": ${value}}]}}}}}`;
  const files = {
    empty: '',
    list: '[]',
    'another version': '{version: 2, events: {}}',
    'no events': 'version: 1',
    'the same event twice': 'version: 1\nevents:\n  a: {label: A}\n  a: {label: B}',
    'not YAML': 'version: 1\nevents: [',
    'an unknown field': '{version: 1, events: {}, extends: other.yaml}',
    'the key __proto__': '{"version": 1, "events": {"__proto__": {"label": "x"}}}',
    'many aliases': aliases,
    'a tag': 'version: 1\nevents: !!js/function "x"',
    'a set': 'version: 1\nevents: !!set {a}',
    'an ordered map': 'version: 1\nevents: !!omap [a: {label: A}]',
    'a number with zeros': withOption('007'),
    'a long number': withOption('12345678901234567890'),
    'a hexadecimal number': withOption('0x10'),
    'a number with an exponent': withOption('1e3'),
    'a number without loss': withOption('1.5'),
  };
  const refusals = Object.entries(files).map(([name, text]) => `${name}: ${refusalOf(text).split('\n')[0]}`);
  expect(refusals.join('\n')).toMatchInlineSnapshot(`
    "empty: plan.yaml: must be an object
    list: plan.yaml: must be an object
    another version: plan.yaml: version: must be 1
    no events: plan.yaml: events: must be an object of events by name
    the same event twice: plan.yaml: Map keys must be unique at line 4, column 3:
    not YAML: plan.yaml: Flow sequence in block collection must be sufficiently indented and end with a ] at line 2, column 10:
    an unknown field: plan.yaml: extends: is not a known property
    the key __proto__: plan.yaml: events.__proto__: must start with a letter and contain only lowercase letters, digits and underscores
    many aliases: plan.yaml: Excessive alias count indicates a resource exhaustion attack
    a tag: plan.yaml: Unresolved tag: tag:yaml.org,2002:js/function at line 2, column 9:
    a set: plan.yaml: Unresolved tag: tag:yaml.org,2002:set at line 2, column 9:
    an ordered map: plan.yaml: Unresolved tag: tag:yaml.org,2002:omap at line 2, column 9:
    a number with zeros: plan.yaml: the number 007 must be quoted, because it would be changed
    a long number: plan.yaml: the number 12345678901234567890 must be quoted, because it would be changed
    a hexadecimal number: plan.yaml: the number 0x10 must be quoted, because it would be changed
    a number with an exponent: plan.yaml: the number 1e3 must be quoted, because it would be changed
    a number without loss: accepted"
  `);
});

test('YAML that a plan does not have, and comments of JSON, are refused for what they are', () => {
  const files = {
    'a merge key': 'version: 1\nevents:\n  a: &base\n    label: A\n  b:\n    <<: *base\n    label: B\n',
    'a merge key of a property': '{version: 1, events: {a: {label: A, properties: {p: {<<: {}, label: P}}}}}',
    'a key for anchors':
      'version: 1\nx-common: &c {label: P, type: string}\nevents: {a: {label: A, properties: {p: *c}}}',
    'two documents': 'version: 1\nevents: {}\n---\nversion: 1\nevents: {}\n',
    'a comment in JSON': '{\n  // the plan\n  "version": 1, "events": {} }',
    'a comment before JSON': '/* the plan */\n{"version": 1, "events": {}}',
    'a comment after a comma': '{ "version": 1, // one\n "events": {} }',
    'a comment after JSON': '{ "version": 1,\n "events": {} } // end',
    'addresses and text are no comments':
      '{ "version": 2, "events": {"a": {"label": "see // and /* at https://example.com"}} }',
    'text in YAML is no comment': 'version: 2\nevents: {a: {label: A, description: 5 // 2}}',
    'an alias of a whole value': 'version: 1\nevents: {a: &a {label: A}, b: *a}',
    'JSON without a fault': '{ "version": 1, "events": {"a": {"label": "http://x /* y */"}} }',
  };
  const refusals = Object.entries(files).map(([name, text]) => `${name}: ${refusalOf(text)}`);
  expect(refusals.join('\n')).toMatchInlineSnapshot(`
    "a merge key: plan.yaml: line 6: merge keys (<<) are not supported; write the fields, or the alias of a whole value
    a merge key of a property: plan.yaml: line 1: merge keys (<<) are not supported; write the fields, or the alias of a whole value
    a key for anchors: plan.yaml: line 2: x-common: a plan has only version and events; write an anchor (&) where its value is first used
    two documents: plan.yaml: has several documents (---); a plan is one document
    a comment in JSON: plan.yaml: line 2 has a comment with // or /*; write # instead, or remove it
    a comment before JSON: plan.yaml: line 1 has a comment with // or /*; write # instead, or remove it
    a comment after a comma: plan.yaml: line 1 has a comment with // or /*; write # instead, or remove it
    a comment after JSON: plan.yaml: line 2 has a comment with // or /*; write # instead, or remove it
    addresses and text are no comments: plan.yaml: version: must be 1
    text in YAML is no comment: plan.yaml: version: must be 1
    an alias of a whole value: accepted
    JSON without a fault: accepted"
  `);
});

test('a file that is not UTF-8 is refused by its name', () => {
  const yaml = 'version: 1\nevents:\n  a: {label: Größe}\n';
  const files = {
    'UTF-8': Buffer.from(yaml),
    'UTF-8 with a byte order mark': Buffer.from(`\uFEFF${yaml}`),
    'UTF-16, little endian': Buffer.from(`\uFEFF${yaml}`, 'utf16le'),
    'UTF-16, big endian': Buffer.from(`\uFEFF${yaml}`, 'utf16le').swap16(),
    'UTF-16 without a byte order mark': Buffer.from(yaml, 'utf16le'),
    'Latin 1': Buffer.from(yaml, 'latin1'),
    'a cut character at the end': Buffer.from('version: 1\nevents: {} # für ö').subarray(0, -1),
  };
  const refusals = Object.entries(files).map(([name, bytes]) => `${name}: ${refusalOfBytes(bytes)}`);
  expect(refusals.join('\n')).toMatchInlineSnapshot(`
    "UTF-8: Größe
    UTF-8 with a byte order mark: Größe
    UTF-16, little endian: plan.yaml: is UTF-16; save the file as UTF-8
    UTF-16, big endian: plan.yaml: is UTF-16; save the file as UTF-8
    UTF-16 without a byte order mark: plan.yaml: has zero bytes, as a file in UTF-16 has; save the file as UTF-8
    Latin 1: plan.yaml: line 3 is not UTF-8; save the file as UTF-8
    a cut character at the end: plan.yaml: line 2 is not UTF-8; save the file as UTF-8"
  `);
});

function refusalOfBytes(bytes: Buffer): string {
  try {
    return [...parsePlan(decodePlan(bytes, 'plan.yaml'), 'plan.yaml').values()].map(({ label }) => label).join();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
