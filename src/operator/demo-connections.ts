import { DAY_MS } from '../core/text/timestamps.ts';
import { requireOrganization } from '../core/access.ts';
import { parseInput } from '../core/input/validation.ts';
import { McpConnection, createMcpConnection, createMcpConnectionInput } from '../domains/mcp-connections/public.ts';
import type { ContextAt } from './demo-sessions.ts';
import { Webhook, WebhookDelivery, createWebhook } from '../domains/webhooks/public.ts';

/** The addresses of the demo workspace cannot exist, and nothing calls them unless a person asks for it. */
const NOTES = { type: 'stdio', name: 'Notes', visibility: 'shared', command: 'npx', args: ['-y', 'notes-server'] };
const RECEIVER = { url: 'https://hooks.example/gateway', types: ['session.state_changed' as const] };
const DELIVERIES = 20;
const FAILURES = 9;

/**
 * Stores a connection that needs an authorization, and one whose command is only stored: creating the first would call its server. Creates a
 * webhook that was disabled after five days of failures. It is not called: no session changes any more.
 */
export async function createDemoConnections(contextAt: ContextAt, at: Date): Promise<void> {
  const daysAgo = (days: number) => new Date(at.getTime() - days * DAY_MS);
  const context = contextAt(0, at);
  const { actor, newId } = context;
  const organization = requireOrganization(actor).id;
  await createMcpConnection(context, parseInput(createMcpConnectionInput, NOTES));
  const { webhook } = await createWebhook(contextAt(0, daysAgo(30)), RECEIVER);
  await context.em.fork().transactional(async (em) => {
    em.create(McpConnection, {
      id: newId(),
      name: 'Issue tracker',
      handle: 'issue-tracker',
      type: 'remote',
      serverUrl: 'https://tracker.example/mcp',
      authType: 'oauth',
      oauthRegistration: 'automatic',
      status: 'AUTHORIZATION_REQUIRED',
      visibility: 'shared',
      recordToolCalls: 'ALL',
      allowMissingPkceMetadata: false,
      organization,
      owner: actor.userId,
      envKeys: [],
      headerKeys: [],
      createdAt: at,
      updatedAt: at,
    });
    const stored = await em.findOneOrFail(Webhook, { id: webhook.id });
    stored.disable('failing', daysAgo(1));
    em.assign(stored, { attempts: FAILURES, failingSince: daysAgo(6), lastDeliveredAt: daysAgo(6) });
    for (let index = 1; index <= DELIVERIES; index += 1) {
      const failures = Math.max(0, index - DELIVERIES + FAILURES);
      em.create(WebhookDelivery, {
        id: newId(),
        organizationId: organization,
        webhookId: webhook.id,
        kind: 'entry',
        type: 'session.state_changed',
        feedEntryId: index - failures + Math.min(failures, 1),
        attempt: Math.max(failures, 1),
        ...(failures > 0
          ? { state: 'failed', status: 503, answer: 'Service unavailable', durationMs: 1500 }
          : { state: 'succeeded', status: 204, answer: '', durationMs: 80 + ((index * 37) % 90) }),
        createdAt: daysAgo(failures > 0 ? 6 - (5 * failures) / FAILURES : 6 + (DELIVERIES - index) / 2),
      });
    }
  });
}
