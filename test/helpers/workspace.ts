import { randomUUID } from 'node:crypto';
import { type TestGateway, startTestGateway } from './gateway.ts';
import { type Peer, mcpHandler, startPeer } from './mcp-server.ts';
import { append, createSession, eventsOf, moveTo, mutate } from './sessions.ts';

/** Who asks: `foreign` is an admin elsewhere, to whom everything that exists here is missing. */
export type Caller = 'admin' | 'member' | 'unbound' | 'scopeless' | 'foreign' | 'revoked' | 'unknown' | 'none';

/** Something that exists, chosen when the request is sent: which, is the number that was generated. */
export class Reference {
  readonly kind: string;
  readonly pick: number;

  constructor(kind: string, pick: number) {
    this.kind = kind;
    this.pick = pick;
  }
}

const DEFINITIONS = '/events/2026-03/event-definitions';

/** An organization with one of everything, in which what was deleted comes again, so that requests keep meeting something. */
export interface Workspace {
  readonly gateway: TestGateway;
  keyOf(caller: Caller): string | undefined;
  /** What exists, by kind. */
  readonly pool: Readonly<Record<string, readonly string[]>>;
  /** Gives back what earlier requests have taken from the callers, and makes again what they have used up. */
  restore(): Promise<void>;
  resolve(reference: Reference, caller: Caller): string;
  /** The last failure that was logged: what a caller is not told. */
  failures(): string[];
  close(): Promise<void>;
}

export async function createWorkspace(): Promise<Workspace> {
  const peer: Peer = await startPeer(mcpHandler());
  const gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { outbound: OUTBOUND });
  const { sql } = gateway.dependencies;
  const admin = await gateway.createKey();
  const { organization } = admin;
  const member = await gateway.createKey({ organization });
  const unbound = await gateway.createKey({ organization, role: 'admin' });
  await sql.query('update api_key set organization_id = null where id = $1', [unbound.keyId]);
  const scopeless = await gateway.createKey({ organization, scopes: [] });
  const foreign = await gateway.createKey();
  const revoked = await gateway.createKey({ organization });
  await sql.query('update api_key set revoked_at = now() where id = $1', [revoked.keyId]);
  const keys = { admin, member, unbound, scopeless, foreign, revoked };
  const residents = [admin, member, unbound, scopeless];
  const holders = [
    residents.map(({ userId }) => userId),
    residents.map(({ keyId }) => keyId),
    ['admin', 'member', 'admin', 'member'],
  ];

  async function create<Body>(path: string, body: object): Promise<Body> {
    const answer = await gateway.rest<Body>('POST', path, { key: admin.key, body });
    if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.text}`);
    return answer.body;
  }

  async function createDefinition(rest: object = {}): Promise<string> {
    const propertyDefinitions = [
      { label: 'Amount', name: 'amount', type: 'number' },
      { label: 'Day', name: 'day', type: 'date' },
      { label: 'Plan', name: 'plan', type: 'enumeration', options: [{ label: 'Free', value: 'free' }] },
    ];
    const name = `event_${randomUUID().replaceAll('-', '')}`;
    await create(DEFINITIONS, { label: 'Order', name, propertyDefinitions, ...rest });
    await gateway.rest('POST', '/events/2026-03/send', {
      key: admin.key,
      body: { eventName: name, properties: { amount: 1 }, email: 'somebody@example.com' },
    });
    return name;
  }

  const makers: Readonly<Record<string, () => Promise<string>>> = {
    apiKeyId: async () => (await gateway.createKey({ organization })).keyId,
    eventName: () => createDefinition(),
    propertyName: async () => {
      const name = `property_${randomUUID().slice(0, 8)}`;
      const eventName = pool['eventName']?.[0];
      // Those that operations have added would fill it in time.
      await sql.query(MAKE_ROOM, [admin.organizationId, eventName]);
      await create(`${DEFINITIONS}/${eventName}/property`, { label: 'Property', name, type: 'string' });
      return name;
    },
    mcpConnectionId: async () => {
      const body = { name: `Server ${randomUUID()}`, serverUrl: `${peer.origin}/mcp` };
      return (await create<{ connection: { id: string } }>('/v1/mcp-connections', body)).connection.id;
    },
    broadcast_guid: async () => {
      const body = { channelGuid: pool['channelGuid']?.[0], content: { body: 'Hello' } };
      return (await create<{ broadcastGuid: string }>('/broadcast/v1/broadcasts', body)).broadcastGuid;
    },
  };

  const definition = await createDefinition();
  const channels = await gateway.rest<{ channelGuid: string }[]>(
    'GET',
    '/broadcast/v1/channels/setting/publish/current',
    { key: admin.key },
  );
  const session = await recordSession(gateway, admin.key);
  const finished = await recordSession(gateway, admin.key);
  await moveTo(gateway, admin.key, finished.sessionId, 'IN_PROGRESS', 'COMPLETED');
  const pool: Record<string, string[]> = {
    eventName: [definition],
    channelGuid: channels.body.map(({ channelGuid }) => channelGuid),
    sessionId: [session.sessionId],
    finishedSessionId: [finished.sessionId],
    messageId: [session.messageId],
    artifactId: [session.artifactId],
    organizationId: [admin.organizationId],
    memberId: [admin.userId, member.userId],
    listCursor: [],
    serverUrl: [
      `${peer.origin}/mcp`,
      `${peer.origin}/other?query=1`,
      'http://127.0.0.1:9/closed',
      'http://nowhere.example/mcp',
      'ftp://127.0.0.1/',
    ],
  };
  for (const [kind, make] of Object.entries(makers)) (pool[kind] ??= []).push(await make());
  const stdio = { type: 'stdio', name: 'Local', command: 'mcp', args: ['--quiet'], env: { TOKEN: 'secret' } };
  pool['mcpConnectionId']?.push(
    (await create<{ connection: { id: string } }>('/v1/mcp-connections', stdio)).connection.id,
  );
  const primaryObjectRule = { targetObjectPropertyName: 'number', eventPropertyName: 'amount' };
  pool['eventName']?.push(await createDefinition({ customMatchingId: { primaryObjectRule } }));
  const page = await gateway.rest<{ paging?: { next: { after: string } } }>('GET', `${DEFINITIONS}?limit=1`, {
    key: admin.key,
  });
  pool['listCursor']?.push(page.body.paging?.next.after ?? '');

  return {
    gateway,
    pool,
    keyOf: (caller) =>
      caller === 'none' ? undefined : caller === 'unknown' ? `wgk_${'0'.repeat(36)}` : keys[caller].key,
    async restore() {
      await sql.query(GIVE_BACK, [admin.organizationId, ...holders, pool['apiKeyId']]);
      const alive = await sql.query<{ id: string }>(ALIVE, [Object.values(pool).flat()]);
      const isAlive = new Set(alive.map(({ id }) => id));
      for (const [kind, make] of Object.entries(makers)) {
        pool[kind] = pool[kind]?.filter((id) => isAlive.has(id)) ?? [];
        if (pool[kind].length === 0) pool[kind].push(await make());
      }
    },
    resolve({ kind, pick }, caller) {
      // Users delete themselves alone.
      if (kind === 'userId') return caller in keys ? keys[caller as keyof typeof keys].userId : admin.userId;
      const candidates = pool[kind] ?? [];
      return candidates[pick % Math.max(1, candidates.length)] ?? 'absent';
    },
    failures: () => gateway.logged.filter((line) => line.includes('"level":50')).slice(-1),
    async close() {
      await gateway.close();
      await peer.stop();
    },
  };
}

/** A session with everything that a session can have. */
async function recordSession(
  gateway: TestGateway,
  key: string,
): Promise<{ sessionId: string; messageId: string; artifactId: string }> {
  const repository = { id: randomUUID(), name: 'gateway', provider: 'github' };
  const sessionId = await createSession(gateway, key, {
    visibility: 'PUBLIC',
    agentOptions: { reasoningLevel: 'high', goal: { enabled: true, objective: 'Green tests' } },
    project: { id: randomUUID(), name: 'Gateway', icon: 'CODE', color: 'TEAL' },
    source: { name: 'Issue 1', type: 'issue', repositories: [repository] },
    sourcePullRequest: { id: randomUUID(), url: 'https://example.com/2', title: 'Base', status: 'MERGED' },
    diffSummary: { additions: 3, deletions: 1 },
    richContent: { type: 'doc', content: [{ type: 'paragraph', content: [{ type: 'text', text: 'Hello' }] }] },
  });
  const messageId = randomUUID();
  const data = {
    scope: { kind: 'subagent', parentToolUseId: 'tool', taskId: 'task' },
    event: { event: 'delta', message: 'text', provider: 'anthropic' },
    toolResult: { status: 'completed', output: 'done', exitCode: 0 },
    delivery: 'realtime',
  };
  await append(gateway, key, sessionId, [...eventsOf(3, { messageId, data }), ...eventsOf(3)]);
  const { artifact } = await mutate<{ artifact: { databaseId: string } }>(
    gateway,
    key,
    'recordArtifact',
    { sessionId, type: 'PULL_REQUEST' },
    'artifact { databaseId }',
  );
  await mutate(gateway, key, 'recordPullRequest', {
    artifactId: artifact.databaseId,
    url: 'https://example.com/1',
    title: 'Mend the test',
    status: 'OPEN',
    sourceBranch: 'mend',
    baseBranch: 'main',
    headSha: 'abc',
    agent: 'agent',
    diff: { additions: 1, deletions: 1, data: '' },
    author: { login: 'somebody', avatarUrl: 'https://example.com/a.png' },
    codeRepository: { ...repository, owner: 'owner', baseBranch: 'main' },
  });
  return { sessionId, messageId, artifactId: artifact.databaseId };
}

/** Memberships, roles and keys as they were; keys beside them, of which an organization may have few, are revoked. */
const GIVE_BACK = `
  with holders as (select * from unnest($2::uuid[], $3::uuid[], $4::text[]) as holder (user_id, key_id, role)),
    members as (insert into membership (organization_id, user_id, role, created_at) select distinct on (user_id) $1::uuid, user_id, role, now() from holders
      on conflict (organization_id, user_id) do update set role = excluded.role where membership.role <> excluded.role),
    keys as (update api_key set revoked_at = null where revoked_at is not null and id in (select key_id from holders))
  update api_key set revoked_at = now() where organization_id = $1 and revoked_at is null
    and id <> all($5::uuid[]) and id not in (select key_id from holders)`;

const MAKE_ROOM = `
  delete from event_property p using event_definition d where d.id = p.definition_id
    and d.organization_id = $1 and d.name = $2 and p.name not in ('amount', 'day', 'plan')`;

/** Of ids and names, those of things that are still there. */
const ALIVE = `
  select id::text from api_key where revoked_at is null and id::text = any($1)
  union all select id::text from mcp_connection where id::text = any($1)
  union all select id::text from broadcast where status <> 'canceled' and id::text = any($1)
  union all select name from event_definition where deleted_at is null and name = any($1)
  union all select p.name from event_property p join event_definition d on d.id = p.definition_id
    where d.deleted_at is null and p.name = any($1)`;

/** No name leads anywhere but to this machine. */
const OUTBOUND = {
  resolve: async (hostname: string) => (hostname === '127.0.0.1' ? ['127.0.0.1'] : ['127.0.0.2']),
  connectTimeoutMs: 5_000,
  totalTimeoutMs: 20_000,
};
