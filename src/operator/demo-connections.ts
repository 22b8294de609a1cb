import { DAY_MS } from '../core/text/timestamps.ts';
import { requireOrganization } from '../core/access.ts';
import { parseInput } from '../core/input/validation.ts';
import type { OperationContext } from '../core/operation.ts';
import { McpConnection, createMcpConnection, createMcpConnectionInput } from '../domains/mcp-connections/public.ts';
import type { ContextAt } from './demo-sessions.ts';
import { Webhook, WebhookDelivery, createWebhook } from '../domains/webhooks/public.ts';

/** The addresses of the demo workspace cannot exist, and nothing calls them unless a person asks for it. */
const TRACKER = 'https://tracker.example/mcp';
const RECEIVER = 'https://hooks.example/gateway';
const NOTES = { type: 'stdio', name: 'Notes', visibility: 'shared', command: 'npx', args: ['-y', 'notes-server'] };

/** Stores a connection that needs an authorization, and one whose command is only stored. Creating the first would call its server. */
export async function createDemoConnections(context: OperationContext): Promise<void> {
  const { actor, now, newId } = context;
  await context.em.fork().transactional((em) => {
    em.create(McpConnection, {
      id: newId(),
      name: 'Issue tracker',
      handle: 'issue-tracker',
      type: 'remote',
      serverUrl: TRACKER,
      authType: 'oauth',
      oauthRegistration: 'automatic',
      status: 'AUTHORIZATION_REQUIRED',
      visibility: 'shared',
      recordToolCalls: 'ALL',
      allowMissingPkceMetadata: false,
      organization: requireOrganization(actor).id,
      owner: actor.userId,
      envKeys: [],
      headerKeys: [],
      createdAt: now(),
      updatedAt: now(),
    });
  });
  await createMcpConnection(context, parseInput(createMcpConnectionInput, NOTES));
}

/** Creates a webhook that was disabled after failures, with the deliveries before. It is not called: no session changes any more. */
export async function createDemoWebhook(contextAt: ContextAt, now: Date): Promise<void> {
  const daysAgo = (days: number) => new Date(now.getTime() - days * DAY_MS);
  const context = contextAt(0, daysAgo(DAYS));
  const { actor, newId } = context;
  const { webhook } = await createWebhook(context, { url: RECEIVER, types: ['session.state_changed'] });
  const em = context.em.fork();
  await em.begin();
  const stored = await em.findOneOrFail(Webhook, { id: webhook.id });
  stored.disable('failing', daysAgo(1));
  em.assign(stored, {
    attempts: FAILURES,
    failingSince: daysAgo(6),
    lastDeliveredAt: daysAgo(6),
  });
  for (let index = 0; index < DELIVERIES; index += 1) {
    const failures = index - (DELIVERIES - FAILURES) + 1;
    const isFailed = failures > 0;
    const days = isFailed ? 6 - (5 * failures) / FAILURES : 6 + (DELIVERIES - index) / 20;
    em.create(WebhookDelivery, {
      id: newId(),
      organizationId: requireOrganization(actor).id,
      webhookId: webhook.id,
      kind: 'entry',
      type: 'session.state_changed',
      feedEntryId: Math.min(index, DELIVERIES - FAILURES) + 1,
      attempt: isFailed ? failures : 1,
      ...(isFailed
        ? { state: 'failed', status: 503, answer: 'Service unavailable', durationMs: 1500 }
        : { state: 'succeeded', status: 204, answer: '', durationMs: 80 + ((index * 37) % 90) }),
      createdAt: daysAgo(days),
    });
  }
  await em.commit();
}
const DAYS = 30;
const DELIVERIES = 48;
const FAILURES = 9;
