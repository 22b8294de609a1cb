import { expect, test } from 'vitest';
import { SCOPES_OF_PEOPLE, scopesOf } from '../../src/core/access.ts';
import { type Scope, grantableScopes } from '../../src/console/parts/scopes.ts';

const named = (scopes: readonly string[]) => scopes.map((scope) => scope.replaceAll('.', '_').toUpperCase() as Scope);

test('the form of a key offers the scopes that the gateway grants to its owner', () => {
  const own = named(SCOPES_OF_PEOPLE);
  for (const [role, name] of [
    ['admin', 'ADMIN'],
    ['member', 'MEMBER'],
    ['viewer', 'VIEWER'],
  ] as const) {
    const granted = named(scopesOf(role)).toSorted();
    expect(grantableScopes(own, name, true).toSorted()).toEqual(granted);
    expect(grantableScopes(own, name, false).toSorted()).toEqual(granted.filter((scope) => scope !== 'SCIM'));
  }
});
