import { expect, test } from 'vitest';
import { formatTable } from '../../src/operator/write-answer.ts';

test('a table has a column for each property, as wide as its widest value; long values are cut, and control characters are replaced', () => {
  const rows = [
    { keyId: 'a', scopes: ['social', 'users.delete'], lastUsedAt: null, organizations: { acme: 'admin' }, members: 3 },
    { keyId: 'long', scopes: [], lastUsedAt: 'x\n\u001b[31my', organizations: {}, members: 12_345 },
    { keyId: 'k'.repeat(60), scopes: ['s'], lastUsedAt: 'now', organizations: { a: 'b', c: 'd' }, members: 0 },
  ];
  expect(formatTable(rows)).toMatchInlineSnapshot(`
    "KEY ID                                            SCOPES               LAST USED AT  ORGANIZATIONS  MEMBERS
    a                                                 social users.delete  -             acme:admin     3
    long                                                                   x  [31my                     12345
    kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk…  s                    now           a:b c:d        0
    "
  `);
});

test('an empty table is printed as (none)', () => {
  expect(formatTable([])).toBe('(none)\n');
});
