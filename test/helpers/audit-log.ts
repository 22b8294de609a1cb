import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { toIsoString } from '../../src/core/sql.ts';
import { type TestGateway, startTestGateway } from './gateway.ts';
import { type OAuthFixture, startOAuthFixture } from './mcp-authorization-server.ts';
import { type Peer, mcpHandler, startPeer } from './mcp-server.ts';

/** A row of the audit log but for its id. */
export interface AuditRow {
  readonly occurredAt: string;
  readonly organizationId: string | null;
  readonly source: string;
  readonly keyId: string | null;
  readonly operation: string;
  readonly targetType: string;
  readonly targetId: string | null;
  readonly requestId: string;
}

/** All entries, in the order in which they were written. */
export async function auditRows({ dependencies }: TestGateway): Promise<AuditRow[]> {
  const rows = await dependencies.sql.query<AuditRow>(
    `select occurred_at as "occurredAt", organization_id as "organizationId", source, key_id as "keyId", operation,
      target_type as "targetType", target_id as "targetId", request_id as "requestId" from audit_entry order by ctid`,
    [],
  );
  return rows.map((row) => ({ ...row, occurredAt: toIsoString(row.occurredAt) }));
}

type Issued = Awaited<ReturnType<TestGateway['createKey']>>;

export interface Change {
  /** The answer, as JSON or as the member of the result union. */
  readonly result: Record<string, unknown>;
  readonly requestId: string;
}

/** A write: how it is done, by whom, what it is called in the log, and what it changes. */
export interface Write {
  readonly run: () => Promise<Change>;
  /** The operation, where it has another name than the field or the route. */
  readonly operation?: string;
  /** Type and id. */
  readonly target: () => [type: string, id: string | null | undefined];
  readonly by?: () => Issued;
  /** Where it is written down, if not where the caller acts. */
  readonly organization?: () => string | undefined;
}

/** A workspace in which everything can be written, with an MCP server that needs no authorization and one that does. */
export interface AuditWorld {
  readonly gateway: TestGateway;
  readonly admin: Issued;
  readonly leaver: Issued;
  readonly server: Peer;
  readonly oauth: OAuthFixture;
  /** What writes have made, for later ones. */
  readonly made: Record<string, string>;
  mutate(name: string, input: object, selection?: string, key?: string): Promise<Change>;
  rest(method: string, path: string, body?: object, key?: string): Promise<Change>;
  /** Remembers the id that stands at the end of the path. */
  keep(name: string, change: Promise<Change>, ...path: string[]): Promise<Change>;
  /** Does it at `AT`, and gives the entries that came of it, and the one that should have. */
  record(name: string, write: Write): Promise<{ added: AuditRow[]; expected: AuditRow }>;
  stop(): Promise<void>;
}

export const AT = new Date('2026-03-01T10:20:30.500Z');

export async function startAuditWorld(): Promise<AuditWorld> {
  const gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true', USER_DELETION_DELAY: '3600' });
  const admin = await gateway.createKey();
  const leaver = await gateway.createKey({ organization: admin.organization });
  const server = await startPeer(mcpHandler());
  const oauth = await startOAuthFixture();
  const made: Record<string, string> = {};
  return {
    gateway,
    admin,
    leaver,
    server,
    oauth,
    made,
    async mutate(name, input, selection = '__typename', key = admin.key) {
      const type = name.charAt(0).toUpperCase() + name.slice(1);
      const requestId = randomUUID();
      const { data, errors } = await gateway.graphql<Record<string, Record<string, unknown>>>(
        key,
        `mutation($input: ${type}Input!) { ${name}(input: $input) { __typename ... on ${type}Payload { ${selection} } ... on Error { message } } }`,
        { input },
        { 'X-Request-Id': requestId },
      );
      const result = data?.[name] ?? {};
      expect([result['__typename'], result['message'], errors]).toEqual([`${type}Payload`, undefined, undefined]);
      return { result, requestId };
    },
    async rest(method, path, body, key = admin.key) {
      const requestId = randomUUID();
      const headers = { 'X-Request-Id': requestId };
      const answer = await gateway.rest<Record<string, unknown>>(method, path, { key, headers, ...(body && { body }) });
      expect([answer.status < 300, answer.text]).toEqual([true, answer.text]);
      return { result: answer.body ?? {}, requestId };
    },
    async keep(name, change, ...path) {
      const { result } = await change;
      made[name] = String(path.reduce<unknown>((value, part) => (value as Record<string, unknown>)[part], result));
      return change;
    },
    async record(name, { run, operation = name, target, by = () => admin, organization }) {
      gateway.setClock(AT);
      const before = await auditRows(gateway);
      const { requestId } = await run();
      const added = (await auditRows(gateway)).slice(before.length);
      gateway.setClock(undefined);
      const [targetType, targetId = null] = target();
      const { keyId, organizationId } = by();
      const who = { source: 'request', keyId, organizationId: organization?.() ?? organizationId, requestId };
      return { added, expected: { occurredAt: AT.toISOString(), ...who, operation, targetType, targetId } };
    },
    async stop() {
      await Promise.all([server.stop(), oauth.stop()]);
      await gateway.close();
    },
  };
}
