import { expect, test } from 'vitest';
import { parsePlan, printPlan } from '../../../src/operator/tracking-plan/plan-file.ts';
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
