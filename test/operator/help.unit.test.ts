import { expect, test } from 'vitest';
import { helpOf } from '../../src/operator/command-line.ts';

test('the help of a command contains its usage, its effect and the values of its options', () => {
  expect(helpOf('subscriptions set')).toMatchInlineSnapshot(`
    "Usage: npm run --silent cli -- subscriptions set --organization SLUG --family F --level L

    change a subscription of an organization

      --family F  marketing, sales, service, content, data, revenue
      --level L   free, starter, professional, enterprise
    "
  `);
  expect(helpOf('migrate')).toMatchInlineSnapshot(`
    "Usage: npm run --silent cli -- migrate

    migrate the database to this version
    "
  `);
});
