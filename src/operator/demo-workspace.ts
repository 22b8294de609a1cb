import { type Actor, SCOPES, hasAccess } from '../core/access.ts';
import { EVENT_DEFINITIONS } from '../domains/event-definitions/public.ts';
import { Organization } from '../domains/organizations/public.ts';
import { createDemoEvents } from './demo-events.ts';
import { createDemoConnections } from './demo-connections.ts';
import { type ContextAt, createDemoSessions } from './demo-sessions.ts';
import { type IssuedKey, issueKey } from './issue-key.ts';
import { operationContext } from '../gateway/contexts.ts';
import type { Dependencies } from '../gateway/dependencies.ts';

export const DEMO_EMAIL = 'demo@example.com';
const OWNER = { email: DEMO_EMAIL, organization: 'demo', name: 'Demo' };
/** Members who have started sessions too. Their keys are shown to nobody. */
const MEMBERS = ['ann@example.com', 'ben@example.com'];

/**
 * Creates a demo workspace: two months of the work of five agents. Returns undefined if there is already an organization.
 * @param onFault called if the examples could not be created in full; the key works then, too. Without it that is an error.
 */
export async function createDemoWorkspace(
  dependencies: Dependencies,
  onFault?: (error: unknown) => void,
): Promise<IssuedKey | undefined> {
  if ((await dependencies.database.em.fork().count(Organization)) > 0) return undefined;
  const owner = await issueKey(dependencies, { ...OWNER, allOrganizations: true });
  try {
    await createExamples(dependencies, owner);
  } catch (error) {
    if (!onFault) throw error;
    onFault(error);
  }
  return owner;
}

async function createExamples(dependencies: Dependencies, owner: IssuedKey): Promise<void> {
  const organization = await dependencies.database.em.fork().findOneOrFail(Organization, { slug: OWNER.organization });
  const people: IssuedKey[] = [owner];
  for (const email of MEMBERS) people.push(await issueKey(dependencies, { ...OWNER, email }));
  const now = dependencies.now();
  const contextAt: ContextAt = (person, at) => {
    const actor = actorOf(people[person] ?? owner, organization);
    return operationContext(dependencies, actor, { requestId: 'demo' }).with({ now: () => at });
  };
  // `DEFAULT_SUBSCRIPTION` may not include events.
  if (hasAccess(contextAt(0, now).actor, EVENT_DEFINITIONS)) await createDemoEvents(contextAt, now);
  await createDemoSessions(contextAt, now, people.length);
  await createDemoConnections(contextAt, now);
}

function actorOf({ keyId, userId, role }: IssuedKey, { id, number, subscriptions }: Organization): Actor {
  return {
    keyId,
    userId,
    scopes: new Set(SCOPES),
    organization: { id, number, role: role ?? 'admin', subscriptions },
    isOperator: true,
  };
}
