import { type Actor, SCOPES, hasAccess } from '../core/access.ts';
import {
  EVENT_DEFINITIONS,
  createEventDefinition,
  createEventDefinitionInput,
} from '../domains/event-definitions/public.ts';
import { Organization } from '../domains/organizations/public.ts';
import { sendDemoOccurrences } from './demo-occurrences.ts';
import { createDemoSessions } from './demo-session.ts';
import { type IssuedKey, issueKey } from './issue-key.ts';
import { operationContext } from '../gateway/contexts.ts';
import type { Dependencies } from '../gateway/dependencies.ts';

const DEMO_DEFINITIONS = [
  {
    label: 'Product viewed',
    description: 'A visitor views the page of a product.',
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

export const DEMO_EMAIL = 'demo@example.com';

/** Creates a small demo workspace. Returns undefined if there is already an organization. */
export async function createDemoWorkspace(dependencies: Dependencies): Promise<IssuedKey | undefined> {
  const em = dependencies.database.em.fork();
  if ((await em.count(Organization)) > 0) return undefined;
  const demo = { email: DEMO_EMAIL, organization: 'demo', name: 'Demo', allOrganizations: true };
  const issued = await issueKey(dependencies, demo);
  const organization = await em.findOneOrFail(Organization, { slug: demo.organization });
  const actor: Actor = {
    keyId: issued.keyId,
    userId: issued.userId,
    scopes: new Set(SCOPES),
    organization: {
      id: organization.id,
      number: organization.number,
      role: 'admin',
      subscriptions: organization.subscriptions,
    },
    isOperator: true,
  };
  const newContext = () => operationContext(dependencies, actor, { requestId: 'demo' });
  // `DEFAULT_SUBSCRIPTION` may not include events.
  if (hasAccess(actor, EVENT_DEFINITIONS)) {
    for (const definition of DEMO_DEFINITIONS)
      await createEventDefinition(newContext(), createEventDefinitionInput.parse(definition));
    await sendDemoOccurrences(newContext());
  }
  await createDemoSessions(newContext());
  return issued;
}
