import { expectTypeOf, test } from 'vitest';
import type { OrganizationId, SessionId, UserId } from '../../src/core/ids.ts';
import type { SESSIONS } from '../../src/domains/sessions/queries.ts';
import type { Session } from '../../src/domains/sessions/entity.ts';
import type { updateSessionInput } from '../../src/domains/sessions/input.ts';
import type { z } from 'zod';

// The compiler checks these: `npm run check:types` fails if one is wrong.
test('the types of ids of different entities are not assignable to each other, in entities, queries and input; a string is assignable to all', () => {
  expectTypeOf<OrganizationId>().not.toExtend<SessionId>();
  expectTypeOf<string>().toExtend<SessionId>();
  expectTypeOf<Session['id']>().not.toExtend<UserId>();
  expectTypeOf<Session['organization']['id']>().not.toExtend<SessionId>();
  expectTypeOf<readonly UserId[]>().not.toExtend<Parameters<typeof SESSIONS.find>[1]>();
  expectTypeOf<z.output<typeof updateSessionInput>['sessionId']>().not.toExtend<OrganizationId>();
});
