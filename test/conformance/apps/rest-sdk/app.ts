import { createClient } from '../../generated/rest-sdk/client/index.ts';
import * as sdk from '../../generated/rest-sdk/index.ts';

/** What a program does with the functions that @hey-api/openapi-ts makes of openapi.json. */
export async function useSdk({ url, key }: { url: string; key: string }) {
  const client = createClient({ baseUrl: url, auth: key, throwOnError: true });
  const { data: session } = await sdk.createSession({ client, throwOnError: true, body: { title: 'Generated' } });
  const path = { sessionId: session.id };
  const event = { eventType: 'text', provider: 'anthropic', eventData: { type: 'text' } };
  const { data: appended } = await sdk.appendSessionEvents({
    client,
    throwOnError: true,
    path,
    headers: { 'Idempotency-Key': 'append-1' },
    body: { events: [event, event, event] },
  });

  const ids: number[] = [];
  for (let cursor = '0'; ;) {
    const { data, response } = await sdk.listSessionEvents({
      client,
      throwOnError: true,
      path,
      query: { limit: 2, cursor },
    });
    ids.push(...data.items.map(({ id }) => id));
    cursor = data.nextCursor;
    if (!response.headers.has('Link')) break;
  }

  const { data: sessions } = await sdk.listSessions({
    client,
    throwOnError: true,
    query: { state: ['queued', 'inProgress'], visibility: ['private'], limit: 5 },
  });
  const { data: changed } = await sdk.updateSession({ client, throwOnError: true, path, body: { level: 3 } });
  const { data: connection } = await sdk.createMcpConnection({
    client,
    throwOnError: true,
    body: { type: 'stdio', name: 'Local', command: 'npx', env: { TOKEN: 'secret' } },
  });
  const { data: definition } = await sdk.createEventDefinition({ client, throwOnError: true, body: { label: 'Paid' } });
  const occurrence = { eventName: definition.name, properties: {}, email: 'ada@example.com' };
  const sent = await sdk.sendEventOccurrence({ client, throwOnError: true, body: occurrence });
  const { error } = await sdk.readSession({
    client,
    throwOnError: false,
    path: { sessionId: '00000000-0000-4000-8000-000000000000' },
  });
  const wrong = await sdk.createEventDefinition({ client, throwOnError: false, body: { label: '' } });
  return {
    appended: [appended.firstId, appended.lastId],
    ids,
    sessions: sessions.items.map(({ title, state }) => [title, state.current]),
    next: sessions.nextCursor,
    level: changed.level,
    envKeys: connection.connection.envKeys,
    sent: sent.response.status,
    missing: error?.error,
    wrong: wrong.error?.errors.map(({ in: place, message }) => [place, message]),
  };
}

/** What the types must refuse. Never called. */
export async function misuse(): Promise<void> {
  // @ts-expect-error `title` is missing
  await sdk.createSession({ body: {} });
  // @ts-expect-error `limit` is a number
  await sdk.listSessions({ query: { limit: '5' } });
  // @ts-expect-error there is no such state
  await sdk.listSessions({ query: { state: ['running'] } });
}
