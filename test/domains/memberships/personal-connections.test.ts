import { beforeEach, expect, test } from 'vitest';
import { type BoundKey } from '../../../src/operator/issue-key.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { createConnection, visit } from '../../support/fixtures/mcp-connections.ts';
import { REMOVE, mutateOrganization } from '../../support/fixtures/organizations.ts';
import { type OAuthFixture, startOAuthFixture } from '../../support/peers/mcp-authorization-server.ts';
import { dueJobs, runJobs } from '../../support/processes/jobs.ts';

/** When a membership ends, its personal MCP connections are deleted and their tokens are revoked. */

const gateway = useOwnGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let fixture: OAuthFixture;
let admin: BoundKey & { organization: string };
let member: BoundKey;
beforeEach(async () => {
  fixture = await startOAuthFixture();
  admin = await gateway.createKey();
  member = await gateway.createKey({ organization: admin.organization, role: 'admin' });
  return () => fixture.stop();
});

const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);
const remove = (userId: string) => mutateOrganization(gateway, admin.key, REMOVE, { userId });

async function connect(name: string, visibility: string): Promise<string> {
  const { body } = await createConnection(gateway, member.key, { name, visibility, serverUrl: fixture.serverUrl });
  expect((await visit(gateway, fixture.consent(body.authorizationUrl ?? ''))).status).toBe(200);
  return body.connection.id;
}

async function stored(): Promise<unknown> {
  const connections = await rows<{ id: string }>('select id from mcp_connection order by name');
  const secrets = await rows<{ table: string; owner: string }>(
    'select distinct owner_table as table, owner_id as owner from secret order by 1, 2',
  );
  return { connections: connections.map(({ id }) => id), secrets };
}

test('removing a member deletes their personal connections with secrets and revokes the tokens; shared connections stay', async () => {
  const shared = await connect('shared', 'shared');
  await connect('mine', 'personal');
  await connect('mine, too', 'personal');
  expect(await remove(member.userId)).toMatchObject({ removedUserId: expect.any(String) });
  // The removal itself contacts no server; a job revokes the tokens.
  expect(fixture.revoked).toEqual([]);
  expect(await stored()).toMatchObject({ connections: [shared] });
  await runJobs(gateway);
  expect([fixture.revoked.length, new Set(fixture.revoked).size]).toEqual([2, 2]);
  expect(fixture.revoked.every((token) => fixture.secrets.has(token))).toBe(true);
  expect(await stored()).toEqual({
    connections: [shared],
    secrets: [{ table: 'mcp_connection', owner: shared }],
  });
  expect(await rows('select 1 from mcp_token_revocation')).toEqual([]);
});

test('a revocation is retried while the server is unreachable; after eleven attempts the tokens are deleted', async () => {
  await connect('mine', 'personal');
  await fixture.issuer.stop();
  await remove(member.userId);
  const pauses: number[] = [];
  for (let attempt = 1; attempt <= 11; attempt += 1) {
    expect(await rows('select attempts from mcp_token_revocation')).toEqual([{ attempts: attempt - 1 }]);
    await runJobs(gateway);
    const [next] = await rows<{ seconds: number }>(
      `select round(extract(epoch from start_after - created_on))::int as seconds from pgboss.job where name = 'mcp-token-revocation' and state = 'created'`,
    );
    if (next) pauses.push(next.seconds);
    await rows(`update pgboss.job set start_after = now() where name = 'mcp-token-revocation' and state = 'created'`);
  }
  expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560]);
  expect(await dueJobs(gateway)).toBe(0);
  expect(await rows(`select 1 from mcp_token_revocation`)).toEqual([]);
  expect(await rows(`select 1 from secret where owner_table = 'mcp_token_revocation'`)).toEqual([]);
});
