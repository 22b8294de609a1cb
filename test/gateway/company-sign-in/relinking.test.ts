import { afterAll, beforeEach, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/core/text/timestamps.ts';
import { runCommand } from '../../../src/operator/commands.ts';
import type { DatabaseCommand } from '../../../src/operator/command.ts';
import { CookieJar, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { acceptWithoutKey, invite } from '../../support/fixtures/invitations.ts';
import { startForgingIssuer } from '../../support/peers/forging-issuer.ts';

/** A provider that gives people new subjects, such as Entra for a new application. */

const issuer = await startForgingIssuer();
const options = { bounds: { requestsOfClient: Infinity } };
const gateway = await startTestGateway(issuer.env, options);
// The issuer has the clock of the machine.
const now = new Date();
const untilDay = async (days: number) => {
  const day = new Date(now.getTime() + days * DAY_MS).toISOString().slice(0, 10);
  const other = await startTestGateway({ ...issuer.env, OIDC_RELINK_UNTIL: day }, { ...options, beside: gateway });
  other.setClock(now);
  return other;
};
const [relinking, late] = [await untilDay(0), await untilDay(-1)];

afterAll(async () => {
  await late.close();
  await relinking.close();
  await gateway.close();
  await issuer.stop();
});

let number = 0;
let person: { sub: string; email: string; email_verified: boolean };
beforeEach(() => {
  number += 1;
  person = { sub: `old-${number}`, email: `person-${number}@example.com`, email_verified: true };
});

/** The id of the person, or the status of the refusal. */
async function signIn(claims: object, where = gateway): Promise<string | number> {
  const jar = new CookieJar(where);
  const { status } = await signInAs(jar, issuer, { ...person, ...claims });
  return status === 200
    ? (await jar.viewer<{ user: { databaseId: string } }>('user { databaseId }')).user.databaseId
    : status;
}

const run = (command: DatabaseCommand) => runCommand(gateway.dependencies, command, { progress: process.stderr });

test('with OIDC_RELINK_UNTIL an account is joined to one new subject with its verified address, which replaces the old one', async () => {
  const id = await signIn({});
  expect(await signIn({ sub: 'unverified', email_verified: false }, relinking)).toBe(403);
  expect(await signIn({ sub: `new-${number}` }, relinking)).toBe(id);
  expect(await signIn({ sub: `new-${number}` })).toBe(id);
  expect(await signIn({ sub: `newer-${number}` }, relinking)).toBe(403);
  expect(await signIn({}, relinking)).toBe(403);
});

test('the day of OIDC_RELINK_UNTIL is the last one', async () => {
  await signIn({});
  expect(await signIn({ sub: `new-${number}` }, late)).toBe(403);
});

test('the operator lists and unlinks identities; the next subject is joined, and keys stay', async () => {
  const admin = await gateway.createKey();
  const { token } = await invite(gateway, admin.key, person.email);
  const { body } = await acceptWithoutKey(gateway, { token });
  const id = await signIn({});
  const { key } = await gateway.createKey({ email: person.email, organization: body.organization.slug });
  const list = (await run({ name: 'identities list', email: person.email })) as AsyncIterable<object>;
  const rows: object[] = [];
  for await (const row of list) rows.push(row);
  expect(rows).toEqual([
    {
      userId: id,
      email: person.email,
      issuer: issuer.issuer,
      subject: person.sub,
      createdAt: expect.any(String),
      lastSignedInAt: expect.any(String),
    },
  ]);
  expect(await run({ name: 'identities unlink', email: person.email })).toEqual({ userId: id, unlinked: 1 });
  await expect(run({ name: 'identities unlink', email: person.email })).rejects.toThrow('identity not found');
  expect(await signIn({ sub: `new-${number}` })).toBe(id);
  expect(await signIn({})).toBe(403);
  expect((await gateway.rest('GET', '/v1/users/me', { key })).status).toBe(200);
});
