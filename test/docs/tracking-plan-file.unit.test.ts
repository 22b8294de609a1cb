import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { nameFromLabel } from '../../src/domains/event-definitions/naming.ts';
import { PROPERTY_TYPES } from '../../src/domains/event-definitions/property-types.ts';

interface Named {
  label: string;
  name?: string;
}

interface PlannedEvent extends Named {
  primaryObject?: string;
  customMatchingId?: { primaryObjectRule: { eventPropertyName: string } };
  propertyDefinitions: (Named & { type: string; options?: { label: string; value: string }[] })[];
}

const file = new URL('../../docs/examples/shop-tracking-plan.ndjson', import.meta.url);
const plan = readFileSync(file, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line): PlannedEvent => JSON.parse(line));

function nameOf({ label, name }: Named): string | undefined {
  return name ?? nameFromLabel(label, 'property');
}

test('the example plan creates these events, and no name gets a number because it is already taken', () => {
  // Every event has an explicit name; otherwise a second run would create it again with a numbered name.
  const names = plan.map(({ name }) => name);
  expect(names).toEqual([
    'products_searched',
    'product_list_viewed',
    'product_list_filtered',
    'promotion_viewed',
    'promotion_clicked',
    'product_clicked',
    'product_viewed',
    'product_added',
    'product_removed',
    'cart_viewed',
    'checkout_started',
    'checkout_step_viewed',
    'checkout_step_completed',
    'payment_info_entered',
    'order_updated',
    'order_completed',
    'order_shipped',
    'order_refunded',
    'order_cancelled',
    'return_requested',
    'coupon_entered',
    'coupon_applied',
    'coupon_denied',
    'coupon_removed',
    'wishlist_product_added',
    'wishlist_product_removed',
    'wishlist_product_added_to_cart',
    'product_shared',
    'cart_shared',
    'product_reviewed',
    'back_in_stock_alert_subscribed',
  ]);
  for (const { propertyDefinitions } of plan) {
    const properties = propertyDefinitions.map((property) => nameOf(property));
    expect(new Set(properties).size).toBe(properties.length);
  }
});

test('the example plan contains every property type and several primary objects', () => {
  const types = plan.flatMap(({ propertyDefinitions }) => propertyDefinitions.map(({ type }) => type));
  expect([...new Set(types)].toSorted()).toEqual(PROPERTY_TYPES);
  const primaryObjects = new Set(plan.map(({ primaryObject }) => primaryObject ?? 'CONTACT'));
  expect([...primaryObjects].toSorted()).toEqual(['CONTACT', 'DEAL', 'NO_OBJECT', 'ORDER', 'TICKET', 'wishlist']);
});

test('in the example plan, exactly the enumerations have options, and their values are distinct', () => {
  const properties = plan.flatMap(({ propertyDefinitions }) => propertyDefinitions);
  for (const { label, type, options = [] } of properties) {
    expect([label, options.length > 0]).toEqual([label, type === 'enumeration']);
    for (const option of options) expect(option).toEqual({ label: expect.any(String), value: expect.any(String) });
    expect(new Set(options.map(({ value }) => value)).size).toBe(options.length);
  }
});

test('every custom matching id of the example plan names a string or number property of the same event', () => {
  const matched = plan.filter(({ customMatchingId }) => customMatchingId !== undefined);
  expect(matched).toHaveLength(10);
  for (const { customMatchingId, propertyDefinitions } of matched) {
    const key = propertyDefinitions.find(
      (property) => nameOf(property) === customMatchingId?.primaryObjectRule.eventPropertyName,
    );
    expect(['string', 'number']).toContain(key?.type);
  }
});
