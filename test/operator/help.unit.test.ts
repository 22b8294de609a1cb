import { expect, test } from 'vitest';
import { helpOf } from '../../src/operator/command-line.ts';

test('the help of a command contains its usage, its effect and the values of its options', () => {
  expect(helpOf('subscriptions set')).toMatchInlineSnapshot(`
    "Usage: npm run --silent cli -- subscriptions set --organization SLUG --family F --level L

    change a subscription of an organization

      --organization SLUG  the organization, by its slug
      --family F           marketing, sales, service, content, data, revenue
      --level L            free, starter, professional, enterprise
    "
  `);
  expect(helpOf('migrate')).toMatchInlineSnapshot(`
    "Usage: npm run --silent cli -- migrate [--dry-run | --finish]

    migrate the database to this version

      --dry-run  only list each pending migration with the tables that it locks and the mode of the lock
      --finish   say that no process of an earlier version is left, which behind a pooler the gateway cannot see
      --json     print one line of JSON for each row, even in a terminal
    "
  `);
});
