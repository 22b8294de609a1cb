import { expect, test } from 'vitest';
import { parsePlan } from '../../../src/operator/tracking-plan/plan-file.ts';
import { printTypes } from '../../../src/operator/tracking-plan/print-types.ts';
import { compile, fileOf, manyEvents } from '../../support/fixtures/tracking-plans.ts';

const typesOf = (events: object) => printTypes(parsePlan(fileOf(events), 'plan.yaml'));

const events = {
  viewed: {
    label: 'Viewed',
    properties: {
      product: { label: 'Product', type: 'string' },
      price: { label: 'Price', type: 'number' },
      ends_on: { label: 'Ends on', type: 'date' },
      seen_at: { label: 'Seen at', type: 'datetime' },
      is_new: { label: 'New', type: 'bool' },
      color: {
        label: 'Color',
        type: 'enumeration',
        options: ['red', "it's"].map((value) => ({ value, label: value })),
      },
    },
  },
  ordered: { label: 'Ordered', primaryObject: 'ORDER', includeDefaultProperties: false },
  matched: {
    label: 'Matched',
    primaryObject: 'ORDER',
    customMatchingId: { targetObjectPropertyName: 'number', eventPropertyName: 'number' },
    properties: { number: { label: 'Number', type: 'string' } },
  },
  clicked: { label: 'Clicked', primaryObject: 'NO_OBJECT' },
  // Names that mean something to JavaScript.
  delete: { label: 'Delete' },
  constructor: { label: 'Constructor' },
  flush: { label: 'Flush', properties: { close: { label: 'Close', type: 'string' } } },
};

/** Each line after `@ts-expect-error` must be refused: otherwise the compiler reports the comment. */
const PROGRAM = `
import { createEvents } from './events.ts';
const { events, flush } = createEvents({ gateway: 'http://127.0.0.1:4000', key: 'k', onError: () => undefined });
const ann = { email: 'ann@example.com' };
events.viewed({ product: 'mug', price: 1.5, ends_on: '2026-01-01', seen_at: new Date(), is_new: true, color: "it's" }, ann);
events.viewed({ svc_city: 'Oslo', svc_screen_width: 100 }, { utk: 'x', occurredAt: new Date(), uuid: 'once' });
events.ordered({}, { objectId: '1' });
events.matched({ number: '1' });
events.clicked({});
events.clicked({}, { uuid: 'once' });
events.delete({}, ann);
events.constructor({}, ann);
events.flush({ close: 'x' }, ann);
await flush();
// @ts-expect-error
events.missing({}, ann);
// @ts-expect-error
events.viewed({ prize: 1 }, ann);
// @ts-expect-error
events.viewed({ price: '1' }, ann);
// @ts-expect-error
events.viewed({ color: 'green' }, ann);
// @ts-expect-error
events.viewed({ is_new: 'true' }, ann);
// @ts-expect-error
events.viewed({ svc_device_type: 'Toaster' }, ann);
// @ts-expect-error
events.viewed({ product: 'mug' });
// @ts-expect-error
events.viewed({ product: 'mug' }, {});
// @ts-expect-error
events.ordered({}, ann);
// @ts-expect-error
events.ordered({ svc_city: 'Oslo' }, { objectId: '1' });
// @ts-expect-error
events.clicked({}, ann);
// @ts-expect-error
createEvents({ gateway: 'x', key: 'k' });
`;

test('the module compiles strictly, and refuses each wrong event, property, value and record', async () => {
  expect(await compile({ 'events.ts': typesOf(events), 'program.ts': PROGRAM })).toBe('');
});

test('the module of 200 events compiles, whatever their texts', async () => {
  const hostile = { label: 'A */ export const broken = `${1}`; //', description: 'x\u2028*/ y\r\n*/' };
  const types = typesOf({ ...manyEvents(200), hostile });
  expect(await compile({ 'events.ts': types })).toBe('');
});

test('the module of an empty plan compiles, and imports nothing', async () => {
  const types = typesOf({});
  expect(types).not.toMatch(/^import /m);
  expect(await compile({ 'events.ts': types })).toBe('');
});
