import { recordAudit } from '../core/audit.ts';
import { type Actor, type Role, SCOPES, type Scope, operatorEntry } from '../core/operation.ts';
import { issueApiKey } from '../domains/api-keys/operations.ts';
import { createEventDefinitionInput } from '../domains/event-definitions/input.ts';
import { createEventDefinition } from '../domains/event-definitions/operations.ts';
import { Organization } from '../domains/organizations/entity.ts';
import { ensureMember } from '../domains/organizations/member-operations.ts';
import { findOrCreateOrganization } from '../domains/organizations/operations.ts';
import { findOrCreateUser } from '../domains/users/operations.ts';
import { createDemoSession } from './demo-session.ts';
import { type Dependencies, operationContext } from '../gateway/dependencies.ts';

export interface IssuedKey {
  readonly key: string;
  readonly keyId: string;
  readonly userId: string;
  readonly organizationId: string;
}

/**
 * What an operator does who has no key yet: finds or creates the user and the organization, makes the one a member of the other, and
 * issues a key. A user new to the organization becomes `member`, or `admin` of an organization that is created here; without a role an
 * existing one stays.
 */
export function createKeyFor(
  { database, config, now, newId }: Dependencies,
  wanted: { email: string; organization: string; role?: Role; scopes?: readonly Scope[]; name?: string },
): Promise<IssuedKey> {
  return database.em.fork().transactional(async (em) => {
    const settings = { defaultSubscriptions: config.DEFAULT_SUBSCRIPTION };
    const user = await findOrCreateUser({ em, now, newId }, wanted.email.toLowerCase());
    const { organization, isNew } = await findOrCreateOrganization({ em, now, newId, settings }, wanted.organization);
    const otherwise = isNew ? 'admin' : 'member';
    await ensureMember(em, { organization, user }, { role: wanted.role, otherwise, at: now() });
    const name = wanted.name ?? 'Created at the command line';
    const { apiKey, key } = await issueApiKey(
      { em, now, newId },
      { userId: user.id, organizationId: organization.id, name, scopes: wanted.scopes ?? SCOPES },
    );
    const target = { type: 'ApiKey', id: apiKey.id, organizationId: organization.id };
    await recordAudit(em, operatorEntry({ now, newId }, 'createApiKey', target));
    return { key, keyId: apiKey.id, userId: user.id, organizationId: organization.id };
  });
}

const DEMO_DEFINITIONS = [
  {
    label: 'Product viewed',
    description: 'A visitor looks at the page of a product.',
    propertyDefinitions: [
      { label: 'Product id', type: 'string' },
      { label: 'Price', type: 'number' },
    ],
  },
  {
    label: 'Order completed',
    description: 'A visitor has paid for a cart.',
    primaryObject: 'ORDER',
    propertyDefinitions: [
      { label: 'Order number', name: 'order_number', type: 'string' },
      { label: 'Total', type: 'number' },
      {
        label: 'Payment method',
        type: 'enumeration',
        options: [
          { label: 'Card', value: 'card' },
          { label: 'Invoice', value: 'invoice' },
        ],
      },
    ],
    customMatchingId: {
      primaryObjectRule: { targetObjectPropertyName: 'order_number', eventPropertyName: 'order_number' },
    },
  },
];

/** A small workspace to try things on. Returns undefined when there is any organization already. */
export async function createDemoWorkspace(dependencies: Dependencies): Promise<IssuedKey | undefined> {
  const em = dependencies.database.em.fork();
  if ((await em.count(Organization)) > 0) return undefined;
  const issued = await createKeyFor(dependencies, { email: 'demo@example.com', organization: 'demo', name: 'Demo' });
  const organization = await em.findOneOrFail(Organization, { id: issued.organizationId });
  const actor: Actor = {
    keyId: issued.keyId,
    userId: issued.userId,
    scopes: new Set(SCOPES),
    organization: {
      id: organization.id,
      number: organization.number,
      role: 'admin',
      subscriptions: { marketing: 'professional' },
    },
    isOperator: true,
  };
  for (const definition of DEMO_DEFINITIONS) {
    await createEventDefinition(
      operationContext(dependencies, actor, 'demo'),
      createEventDefinitionInput.parse(definition),
    );
  }
  await createDemoSession(operationContext(dependencies, actor, 'demo'));
  return issued;
}
