import { expect, test } from 'vitest';
import { SCOPES, hasAccess } from '../../../src/core/access.ts';
import { FEED_TYPES } from '../../../src/core/feed.ts';
import { visibleTypes } from '../../../src/domains/feed/public.ts';
import { webhookActor } from '../../../src/domains/webhooks/policy.ts';

const actor = webhookActor('00000000-0000-4000-8000-000000000001', { marketing: 'professional' });

test('webhooks read all types of the feed', () => {
  expect(visibleTypes(actor, undefined)).toEqual(FEED_TYPES);
});

test('webhooks read only what these scopes guard: a new scope opens nothing to them', () => {
  const opened = SCOPES.filter((scope) => hasAccess(actor, { scopes: [scope], inOrganization: true }));
  expect(opened).toEqual([
    'mcp_connections.read',
    'mcp_connections.use',
    'sessions.read',
    'behavioral_events.event_definitions.read_write',
  ]);
});
