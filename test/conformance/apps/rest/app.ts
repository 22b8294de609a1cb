import createClient from 'openapi-fetch';
import type { paths } from '../../generated/rest/openapi.ts';

export interface Given {
  readonly url: string;
  readonly key: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly otherKeyId: string;
  readonly mcpServerUrl: string;
  readonly invitationToken: string;
  readonly connectedAppId: string;
  readonly toolApprovalId: string;
}

/** Calls every documented operation once, except those that pass messages of MCP through, and prints the operations whose answers were as documented. */
export async function useEverything(given: Given) {
  const { url, key, userId, sessionId, otherKeyId, mcpServerUrl, invitationToken, connectedAppId, toolApprovalId } =
    given;
  const done: string[] = [];
  const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });
  client.use({
    onResponse({ request, response, schemaPath }) {
      if (response.ok) done.push(`${request.method} ${schemaPath}`);
    },
  });

  /** Without another `Accept` the answer is JSON where there is JSON. */
  type Json<Data> = [Data] extends [string] ? Data : Exclude<Data, string>;
  /** The data of an answer. @throws Error with the documented error. */
  function good<Data>({ data, error, response }: { data?: Data; error?: unknown; response: Response }): Json<Data> {
    if (error !== undefined) throw new Error(`${response.status} ${response.url}: ${JSON.stringify(error)}`);
    return data as Json<Data>;
  }

  const organization = good(await client.POST('/v1/organizations', { body: { name: 'Generated client' } }));

  good(await client.POST('/v1/invitations/preview', { body: { token: invitationToken } }));
  good(await client.POST('/v1/invitations/accept', { body: { token: invitationToken, name: 'Ann' } }));
  const organizations = good(await client.GET('/v1/organizations'));
  const me = good(await client.GET('/v1/users/me'));

  const remote = good(await client.POST('/v1/mcp-connections', { body: { name: 'Tools', serverUrl: mcpServerUrl } }));
  const { connection } = good(
    await client.POST('/v1/mcp-connections/{mcpConnectionId}/authorize', {
      params: { path: { mcpConnectionId: remote.connection.id } },
    }),
  );

  const matches = good(await client.GET('/v1/session-search', { params: { query: { text: 'coupon' } } }));
  const session = good(
    await client.PATCH('/v1/sessions/{sessionId}', {
      params: { path: { sessionId } },
      body: { title: 'Renamed by a generated client', level: 3 },
    }),
  );
  const byId = { params: { path: { mcpConnectionId: connection.id } } };
  const connectionPath = '/v1/mcp-connections/{mcpConnectionId}';
  const readConnection = good(await client.GET(connectionPath, byId));
  const { name, serverUrl, command, args } = readConnection;
  const body = { name: `${name} renamed`, serverUrl, command, args };
  good(await client.PATCH(connectionPath, { ...byId, body }));
  const connections = good(await client.GET('/v1/mcp-connections', { params: { query: { type: 'remote' } } }));
  const settingsPath = `${connectionPath}/settings` as const;
  good(await client.PATCH(settingsPath, { ...byId, body: { toolPolicy: { mode: 'ONLY', names: ['add'] } } }));
  const settings = good(await client.GET(settingsPath, byId));
  const sum = good(
    await client.POST(`${connectionPath}/tool-calls`, {
      ...byId,
      body: { name: 'add', arguments: { a: 19, b: 23 }, timeoutSeconds: 60 },
    }),
  );
  good(await client.POST(`${connectionPath}/tool-definitions/accept`, { ...byId, body: { names: ['add'] } }));
  good(await client.GET('/v1/tool-approvals', { params: { query: { states: ['PENDING'] } } }));
  good(
    await client.POST('/v1/tool-approvals/{toolApprovalId}/decide', {
      params: { path: { toolApprovalId } },
      body: { decision: 'APPROVE' },
    }),
  );
  good(await client.DELETE(connectionPath, byId));

  const imported = good(
    await client.PUT('/v1/sessions/by-source/{agent}/{sourceId}', {
      params: { path: { agent: 'claude', sourceId: 'transcript-1' } },
      body: { title: 'Imported' },
    }),
  );
  good(await client.DELETE('/v1/sessions/{sessionId}', { params: { path: { sessionId: imported.id } } }));
  good(await client.GET('/v1/usage-report', { params: { query: { from: '2026-01-01', until: '2026-12-31' } } }));

  const begun = good(await client.POST('/v1/sessions', { body: { title: 'Begun', visibility: 'public' } }));
  const ofBegun = { params: { path: { sessionId: begun.id } } };
  const appended = good(
    await client.POST('/v1/sessions/{sessionId}/events', {
      ...ofBegun,
      body: { batchId: 'first', events: [{ eventType: 'text', provider: 'anthropic', eventData: { type: 'text' } }] },
    }),
  );
  const transitioned = good(
    await client.POST('/v1/sessions/{sessionId}/transition', { ...ofBegun, body: { state: 'inProgress' } }),
  );
  const artifact = good(
    await client.POST('/v1/sessions/{sessionId}/artifacts', { ...ofBegun, body: { type: 'PullRequest' } }),
  );
  good(
    await client.POST('/v1/artifacts/{artifactId}/pull-requests', {
      params: { path: { artifactId: artifact.id } },
      body: {
        url: 'https://github.com/example/shop/pull/34',
        title: 'Wait for the cart',
        status: 'open',
        isDraft: false,
        sourceBranch: 'wait',
        baseBranch: 'main',
        headSha: '9fceb02d0ae598e95dc970b74767f19372d61af8',
        agent: 'coder',
        diff: { additions: 12, deletions: 4, data: '@@ -1 +1 @@' },
        author: { avatarUrl: 'https://github.com/example.png', login: 'example' },
        codeRepository: {
          id: '3e1c9a52-7f64-4d0b-8a35-5b6c0d9e2f11',
          name: 'shop',
          owner: 'example',
          baseBranch: 'main',
          provider: 'github',
        },
      },
    }),
  );
  const usage = good(await client.GET('/v1/sessions/{sessionId}/usage', ofBegun));
  const exported = good(await client.GET('/v1/sessions/{sessionId}/export', { ...ofBegun, parseAs: 'text' }));
  const feed = good(await client.GET('/v1/feed', { params: { query: { types: ['session.state_changed'] } } }));
  const hook = good(
    await client.POST('/v1/webhooks', { body: { url: 'https://example.com/hooks', types: ['session.created'] } }),
  );
  const ofHook = { params: { path: { webhookId: hook.id } } };
  const hookPath = '/v1/webhooks/{webhookId}';
  const hooks = good(await client.GET('/v1/webhooks'));
  good(await client.PATCH(hookPath, { ...ofHook, body: { types: null, isEnabled: false } }));
  const disabled = good(await client.GET(hookPath, ofHook));
  const rotated = good(await client.POST(`${hookPath}/rotate-secret`, ofHook));
  const ping = good(await client.POST(`${hookPath}/ping`, ofHook));
  good(
    await client.POST(`${hookPath}/deliveries/{deliveryId}/redeliver`, {
      params: { path: { webhookId: hook.id, deliveryId: ping.id } },
    }),
  );
  good(await client.PATCH(hookPath, { ...ofHook, body: { isEnabled: true } }));
  good(await client.POST(`${hookPath}/try`, ofHook));
  good(await client.POST(`${hookPath}/replay`, { ...ofHook, body: { after: 0 } }));
  const deliveries = good(await client.GET(`${hookPath}/deliveries`, ofHook));
  good(await client.DELETE(hookPath, ofHook));
  const account = good(await client.POST('/v1/service-accounts', { body: { name: 'Builds' } }));
  const ofAccount = { params: { path: { serviceAccountId: account.id } } };
  const accountPath = '/v1/service-accounts/{serviceAccountId}';
  good(await client.PATCH(accountPath, { ...ofAccount, body: { role: 'admin' } }));
  good(
    await client.POST(`${accountPath}/api-keys`, { ...ofAccount, body: { name: 'CI', scopes: ['sessions.record'] } }),
  );
  good(await client.GET(`${accountPath}/api-keys`, ofAccount));
  good(await client.GET('/v1/service-accounts'));
  good(await client.DELETE(accountPath, ofAccount));
  const group = good(await client.POST('/v1/groups', { body: { name: 'Platform', memberIds: [userId] } }));
  const ofGroup = { params: { path: { groupId: group.id } } };
  good(await client.GET('/v1/groups'));
  good(await client.PATCH('/v1/groups/{groupId}', { ...ofGroup, body: { name: 'Platform team' } }));
  good(await client.DELETE('/v1/groups/{groupId}', ofGroup));
  good(await client.GET('/v1/audit-log', { params: { query: { limit: 5 } } }));
  const apps = good(await client.GET('/v1/connected-apps'));
  if (apps.items[0]?.id !== connectedAppId) throw new Error('the connected app is not listed');
  good(await client.DELETE('/v1/connected-apps/{connectedAppId}', { params: { path: { connectedAppId } } }));
  const published = good(
    await client.POST('/v1/operation-manifests', {
      body: { client: 'web', version: '1', operations: { name: '{ __typename }' } },
    }),
  );
  good(await client.GET('/v1/operation-manifests'));
  const ofManifest = { params: { path: { client: 'web', version: '1' } } };
  good(await client.DELETE('/v1/operation-manifests/{client}/{version}', ofManifest));
  const recorded = good(await client.GET('/v1/sessions/{sessionId}', ofBegun));
  const pullRequests = good(await client.GET('/v1/sessions/{sessionId}/pull-requests', ofBegun));
  const titles: string[] = [];
  for (let cursor: string | undefined; ;) {
    const list = good(await client.GET('/v1/sessions', { params: { query: { limit: 1, cursor } } }));
    titles.push(...list.items.map(({ title }) => title));
    if (list.nextCursor === null) break;
    cursor = list.nextCursor;
  }

  const passing = good(await client.POST('/v1/sessions', { body: { title: 'Passing' } }));
  const ofPassing = { params: { path: { sessionId: passing.id } } };
  const holdPath = '/v1/sessions/{sessionId}/hold';
  const hold = good(await client.PUT(holdPath, { ...ofPassing, body: { reason: 'Evidence' } }));
  good(await client.DELETE(holdPath, ofPassing));
  const handledPath = '/v1/sessions/{sessionId}/handled';
  good(await client.PUT(handledPath, ofPassing));
  good(await client.DELETE(handledPath, ofPassing));
  good(await client.GET('/v1/sessions/{sessionId}/failure', ofPassing));
  const redaction = good(
    await client.POST('/v1/sessions/{sessionId}/redact', { ...ofPassing, body: { text: 'Passing' } }),
  );
  good(await client.DELETE('/v1/sessions/{sessionId}', ofPassing));
  const ofOrganization = { params: { path: { organizationId: organizations.items[0]?.id ?? '' } } };
  const policyPath = '/v1/organizations/{organizationId}/key-policy';
  good(await client.PATCH(policyPath, { ...ofOrganization, body: { maxDays: 365 } }));
  const policy = good(await client.GET(policyPath, ofOrganization));
  const retentionPath = '/v1/organizations/{organizationId}/retention';
  good(await client.PATCH(retentionPath, { ...ofOrganization, body: { sessionDays: 90 } }));
  const retention = good(await client.GET(retentionPath, ofOrganization));
  const everything = good(
    await client.GET('/v1/organizations/{organizationId}/export', { ...ofOrganization, parseAs: 'text' }),
  );
  const ofMember = { params: { path: { ...ofOrganization.params.path, userId } } };
  good(
    await client.GET('/v1/organizations/{organizationId}/members/{userId}/export', { ...ofMember, parseAs: 'text' }),
  );
  const review = good(await client.GET('/v1/access-review', { parseAs: 'text' }));

  const created = good(await client.POST('/v1/api-keys', { body: { name: 'CI', scopes: ['sessions.read'] } }));
  const keys = good(await client.GET('/v1/api-keys'));

  const eventIds: number[] = [];
  for (let cursor: string | undefined; ;) {
    const page = good(
      await client.GET('/v1/sessions/{sessionId}/events', {
        params: { path: { sessionId }, query: { limit: 2, cursor } },
      }),
    );
    if (page.items.length === 0) break;
    eventIds.push(...page.items.map(({ id }) => id));
    cursor = page.nextCursor;
  }
  const ofEntries = { params: { path: { sessionId }, query: { limit: 2, kinds: ['toolCall', 'note'] } } };
  good(await client.GET('/v1/sessions/{sessionId}/entries', ofEntries));

  const definitions = '/events/2026-03/event-definitions';
  const { name: eventName } = good(
    await client.POST(definitions, {
      body: {
        label: 'Order shipped',
        primaryObject: 'CONTACT',
        propertyDefinitions: [
          { label: 'Weight', type: 'number' },
          { label: 'Carrier', type: 'enumeration', options: [{ label: 'Bike', value: 'bike' }] },
        ],
      },
    }),
  );
  const path = { eventName };
  const found = good(
    await client.GET(definitions, {
      params: { query: { searchString: 'shipped', includeProperties: true, limit: 5 } },
    }),
  );
  const one = `${definitions}/{eventName}` as const;
  const changed = good(await client.PATCH(one, { params: { path }, body: { label: 'Order sent' } }));
  const property = `${one}/property` as const;
  const byPath = `${property}/{propertyName}` as const;
  const added = good(await client.POST(property, { params: { path }, body: { label: 'Note', type: 'string' } }));
  good(await client.PATCH(property, { params: { path }, body: { name: added.name, label: 'Remark' } }));
  const propertyPath = { ...path, propertyName: added.name };
  good(await client.PATCH(byPath, { params: { path: propertyPath }, body: { description: 'Free text.' } }));
  const occurrence = { eventName, email: 'ada@example.com', properties: { weight: 2.5, carrier: 'bike' } };
  good(await client.POST('/events/2026-03/send', { body: occurrence }));
  good(await client.POST('/events/2026-03/send/batch', { body: { inputs: [occurrence, occurrence] } }));
  const occurrences = '/events/event-occurrences/2026-03';
  const sent = good(await client.GET(occurrences, { params: { query: { eventType: eventName, limit: 2 } } }));
  good(await client.GET(`${occurrences}/event-types`));
  const ofEvent = { params: { path: { name: eventName } }, parseAs: 'text' } as const;
  good(await client.GET('/v1/event-definitions/{name}/occurrences/export', ofEvent));
  good(await client.POST('/v1/object-occurrences/delete', { body: { email: 'ada@example.com' } }));
  good(await client.DELETE(byPath, { params: { path: propertyPath } }));
  const read = good(await client.GET(one, { params: { path } }));
  good(await client.DELETE(one, { params: { path } }));
  const gone = await client.GET(one, { params: { path } });

  const plan = good(
    await client.POST('/v1/tracking-plan', {
      body: { definitions: [{ name: 'cart_opened', label: 'Cart opened', propertyDefinitions: [] }] },
    }),
  );

  const [channel] = good(await client.GET('/broadcast/v1/channels/setting/publish/current'));
  const broadcast = good(
    await client.POST('/broadcast/v1/broadcasts', {
      body: {
        channelGuid: channel?.channelGuid ?? '',
        content: { body: 'We are open.' },
        triggerAt: new Date(Date.now() + 1e9).toISOString(),
      },
    }),
  );
  const broadcasts = good(await client.GET('/broadcast/v1/broadcasts'));
  const broadcastPath = { broadcast_guid: broadcast.broadcastGuid };
  good(await client.GET('/broadcast/v1/broadcasts/{broadcast_guid}', { params: { path: broadcastPath } }));
  good(await client.DELETE('/broadcast/v1/broadcasts/{broadcast_guid}', { params: { path: broadcastPath } }));

  good(await client.DELETE('/v1/api-keys/{apiKeyId}', { params: { path: { apiKeyId: otherKeyId } } }));
  const refused = await client.POST('/v1/organizations', { body: { name: '' } });
  good(await client.DELETE('/v1/organizations/{organizationId}/members/{userId}/data', ofMember));
  const deletion = good(await client.DELETE('/v1/users/{userId}', { params: { path: { userId } } }));

  return {
    done,
    answers: {
      organization: organization.name,
      organizations: organizations.items.length,
      me: me.id,
      connection: { type: connection.type, name: connection.name },
      session: { title: session.title, level: session.level, current: session.state.current },
      connections: connections.items.map(({ name }) => name),
      settings: settings.toolPolicy,
      sum: sum.content,
      matches: matches.items.map(({ session }) => session.title),
      begun: {
        title: recorded.title,
        state: transitioned.state.current,
        turns: usage.turns,
        exported: exported.trimEnd().split('\n').length,
        feed: feed.items.map(({ subjectId, data }) => ({ isBegun: subjectId === begun.id, state: data['state'] })),
        events: [appended.firstId, appended.lastId],
        pullRequests: pullRequests.items.map(({ diff }) => diff),
        titles,
      },
      webhook: {
        listed: hooks.items.length,
        reason: disabled.disabledReason,
        isRotated: rotated.secret !== hook.secret,
        deliveries: deliveries.items.map(({ type }) => type),
      },
      passing: {
        hold: hold.reason,
        redactedTexts: redaction.redactedTexts,
        keyDays: policy.maxDays,
        sessionDays: retention.sessionDays,
        reviewed: review.trimEnd().split('\n').length,
        isExported: everything.trimEnd().split('\n').at(-1)?.includes('"kind":"end"'),
      },
      published: published.operationCount,
      keys: keys.items.some((one) => one.id === created.id),
      eventIds,
      found: found.results.map(({ properties }) => properties?.some(({ name }) => name === 'weight')),
      changed: changed.label,
      sent: sent.results.map(({ properties }) => properties['weight']),
      custom: read.properties?.filter(({ isDefault }) => !isDefault).map(({ name, type }) => `${name}: ${type}`),
      gone: { category: gone.error?.category, status: gone.response.status },
      planned: plan.created,
      broadcasts: broadcasts.map(({ content }) => content.body),
      refused: refused.error?.error,
      deletion: { id: deletion.id, queued: deletion.deletionQueued },
    },
  };
}

/** Wrong uses, which the types must refuse. Only compiled, never called. */
export async function misuse(client: ReturnType<typeof createClient<paths>>) {
  // @ts-expect-error there is no such path
  await client.GET('/v1/nothing');
  // @ts-expect-error the path has no such method
  await client.PUT('/v1/organizations', { body: { name: 'x' } });
  // @ts-expect-error `name` is missing
  await client.POST('/v1/organizations', { body: {} });
  // @ts-expect-error a level is a number
  await client.PATCH('/v1/sessions/{sessionId}', { params: { path: { sessionId: '' } }, body: { level: '3' } });
  // @ts-expect-error the parameter of the path is missing
  await client.DELETE('/v1/api-keys/{apiKeyId}');
  const { data } = await client.GET('/broadcast/v1/broadcasts');
  // @ts-expect-error an answer has the documented fields and no others
  return data?.[0]?.title;
}
