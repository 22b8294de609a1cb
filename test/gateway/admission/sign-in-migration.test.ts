import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { startTestGateway } from '../../support/fixtures/gateway.ts';

const PLACE = { table: 'browser_sign_in', row: 'cookie', field: 'id' };
const MIGRATION = 'Migration20261128045703';

test('keys and sign-ins outlast the upgrade to one table, beside gateways of the version before', async () => {
  const gateway = await startTestGateway();
  try {
    const { migrator } = gateway.dependencies.database;
    const { sql, secrets } = gateway.dependencies;
    const { key, keyId } = await gateway.createKey();
    const names = (await migrator.getExecuted()).map(({ name }) => name);
    for (const name of names.slice(names.indexOf(MIGRATION)).toReversed())
      expect(name && (await migrator.down())).toBeTruthy();

    const begin = `with begun as (insert into browser_sign_in (id, key_id, created_at, expires_at)
      values ($1, $2, now(), now() + interval '12 hours') returning id) select id from begun`;
    const cookieOf = async (signInId: string) =>
      `workspace_session=${await secrets.seal(JSON.stringify({ signInId, keyId }), PLACE)}`;
    const [before, beside] = [randomUUID(), randomUUID()];
    await sql.query(begin, [before, keyId]);
    await migrator.up();

    const ask = async (signInId: string) => {
      const headers = { Cookie: await cookieOf(signInId), 'Sec-Fetch-Site': 'same-origin' };
      return (await gateway.fetch('/v1/users/me', { headers })).status;
    };
    expect((await gateway.rest('GET', '/v1/users/me', { key })).status).toBe(200);
    expect(await ask(before)).toBe(200);
    // The statements of the version before.
    expect(await sql.query(begin, [beside, keyId])).toEqual([{ id: beside }]);
    expect(await ask(beside)).toBe(200);
    const found = `select k.id as "keyId", s.id as wanted from api_key k join browser_sign_in s on s.key_id = k.id where s.id = any($1) and s.expires_at > now()`;
    expect(await sql.query(found, [[before]])).toEqual([{ keyId, wanted: before }]);
    const end = `with ended as (delete from browser_sign_in where id = $1 returning id) select id from ended`;
    expect(await sql.query(end, [beside])).toEqual([{ id: beside }]);
    expect(await ask(beside)).toBe(401);
    expect(await sql.query(found, [[beside]])).toEqual([]);
    const listed = await gateway.rest('GET', '/v1/api-keys?includeRevoked=true', { key });
    expect(listed.body).toMatchObject({ items: [{ id: keyId }], nextCursor: null });
    // It revokes a key without its sign-ins.
    await sql.query('update api_key set revoked_at = now() where id = $1', [keyId]);
    expect(await ask(before)).toBe(401);
  } finally {
    await gateway.close();
  }
});
