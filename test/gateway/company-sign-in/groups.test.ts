import { afterAll, expect, test } from 'vitest';
import { CookieJar, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { type Group, createGroup } from '../../support/fixtures/groups.ts';
import { startForgingIssuer } from '../../support/peers/forging-issuer.ts';

/** Groups of the organization that are tied to those of the provider. */

const issuer = await startForgingIssuer();
const settings = {
  OIDC_ORGANIZATION: 'company',
  OIDC_DEFAULT_ROLE: 'member',
  OIDC_GROUPS_CLAIM: 'groups',
  OIDC_ADMIN_GROUPS: 'Admins',
  OIDC_VIEWER_GROUPS: 'Auditors,Guests',
};
const gateway = await startTestGateway({ ...issuer.env, ...settings });
const { key } = await gateway.createKey({ organization: 'company', email: 'owner@elsewhere.example' });
const person = { sub: 'ann', email: 'ann@example.com', email_verified: true };
const signIn = (claims: object) => signInAs(new CookieJar(gateway), issuer, { ...person, ...claims });
const members = async () => {
  const { body } = await gateway.rest<{ items: Group[] }>('GET', '/v1/groups', { key });
  return body.items.map(({ name, memberIds }) => [name, memberIds.length]);
};

afterAll(async () => {
  await gateway.close();
  await issuer.stop();
});

test('a group with an external name follows that of the provider at each sign-in, and others stay', async () => {
  await createGroup(gateway, key, { name: 'Platform', externalName: 'plat' });
  await createGroup(gateway, key, { name: 'Design', externalName: 'design' });
  await createGroup(gateway, key, { name: 'plat' });
  await signIn({ groups: ['plat', 'other'] });
  expect(await members()).toEqual([
    ['Platform', 1],
    ['Design', 0],
    ['plat', 0],
  ]);
  await signIn({ groups: ['design'] });
  expect(await members()).toEqual([
    ['Platform', 0],
    ['Design', 1],
    ['plat', 0],
  ]);
  await signIn({ hasgroups: true });
  expect(await members()).toContainEqual(['Design', 1]);
  await signIn({});
  expect(await members()).toContainEqual(['Design', 0]);
  const entries = await gateway.dependencies.sql.query<{ detail: string }>(
    `select detail from audit_entry where operation = 'followGroups' order by occurred_at, id`,
    [],
  );
  expect(entries.map(({ detail }) => detail)).toEqual([
    'joined Platform',
    'left Platform, joined Design',
    'left Design',
  ]);
});

test('administrators see how people sign in, without secrets, and members do not', async () => {
  const query = `{ viewer { organization { signInSettings {
      issuer domains organizationSlug joins adminGroups viewerGroups allowedGroups isOnly } } } }`;
  expect((await gateway.graphql(key, query)).data).toEqual({
    viewer: {
      organization: {
        signInSettings: {
          issuer: issuer.env['OIDC_ISSUER'],
          domains: ['example.com', 'partner.example'],
          organizationSlug: 'company',
          joins: true,
          adminGroups: ['Admins'],
          viewerGroups: ['Auditors', 'Guests'],
          allowedGroups: null,
          isOnly: false,
        },
      },
    },
  });
  const member = await gateway.createKey({ organization: 'company', role: 'member' });
  const refused = await gateway.graphql(member.key, query);
  expect(refused.data).toEqual({ viewer: { organization: { signInSettings: null } } });
});

test('groups make viewers, also of people who would not join otherwise; an administrator wins, and each change names its group', async () => {
  const eve = { sub: 'eve', email: 'eve@example.com' };
  const roles = [];
  for (const groups of [['Guests'], ['Admins', 'Auditors'], ['Auditors'], []]) {
    await signIn({ ...eve, groups });
    const [row] = await gateway.dependencies.sql.query<{ role: string }>(
      `select m.role from membership m join user_account u on u.id = m.user_id where u.email = $1`,
      [eve.email],
    );
    roles.push(row?.role);
  }
  expect(roles).toEqual(['viewer', 'admin', 'viewer', 'member']);
  const entries = await gateway.dependencies.sql.query<{ detail: string }>(
    `select detail from audit_entry where operation = 'changeOrganizationMemberRole'
     and target_id = (select id from user_account where email = $1) order by occurred_at, id`,
    [eve.email],
  );
  expect(entries.map(({ detail }) => detail)).toEqual([
    'viewer (group Guests)',
    'admin (group Admins)',
    'viewer (group Auditors)',
    'member',
  ]);
});
