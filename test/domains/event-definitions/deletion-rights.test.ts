import { expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { mutate } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();
const PATH = '/events/2026-03/event-definitions';
const define = async (key: string, name: string) =>
  (await gateway.rest<{ id: string }>('POST', PATH, { key, body: { label: name, name } })).body.id;
const remove = async (key: string, name: string) => (await gateway.rest('DELETE', `${PATH}/${name}`, { key })).status;

test('every member deletes event definitions, or their creators and administrators alone, by a plan too', async () => {
  const admin = await gateway.createKey();
  const { organization } = admin;
  const ann = await gateway.createKey({ organization, role: 'member' });
  const ben = await gateway.createKey({ organization, role: 'member' });
  const names = ['a_1', 'a_2', 'a_3', 'a_4'];
  for (const name of names) await define(ann.key, name);
  await define(ann.key, 'old');
  await gateway.dependencies.sql.query(`update event_definition set creator_id = null where name = 'old'`, []);
  expect(await remove(ben.key, 'a_1')).toBe(204);
  const changed = await mutate(
    gateway,
    admin.key,
    'updateOrganization',
    { organizationId: admin.organizationId, definitionDeletion: 'CREATORS' },
    'organization { definitionDeletion }',
  );
  expect(changed).toMatchObject({ organization: { definitionDeletion: 'CREATORS' } });
  const { data } = await gateway.graphql<{
    viewer: { organization: { eventDefinitions: { nodes: { name: string; viewerCanDelete: boolean }[] } } };
  }>(
    ann.key,
    '{ viewer { organization { eventDefinitions(orderBy: { field: NAME, direction: ASC }) { nodes { name viewerCanDelete } } } } }',
  );
  expect(data?.viewer.organization.eventDefinitions.nodes).toEqual([
    ...['a_2', 'a_3', 'a_4'].map((name) => ({ name, viewerCanDelete: true })),
    { name: 'old', viewerCanDelete: false },
  ]);
  const [stored] = await gateway.dependencies.sql.query<{ updated_at: Date }>(
    `select updated_at from event_definition where name = 'a_2'`,
    [],
  );
  const plan = {
    definitions: [],
    deletions: [{ name: 'a_2', expectedUpdatedAt: new Date(stored?.updated_at ?? 0).toISOString() }],
  };
  const byPlan = (key: string) => mutate(gateway, key, 'applyTrackingPlan', plan, 'deleted');
  expect((await byPlan(ben.key)).__typename).toBe('ForbiddenError');
  expect(await byPlan(ann.key)).toMatchObject({ deleted: ['a_2'] });
  expect([await remove(ben.key, 'a_3'), await remove(ann.key, 'a_3'), await remove(ann.key, 'old')]).toEqual([
    403, 204, 403,
  ]);
  expect([await remove(admin.key, 'a_4'), await remove(admin.key, 'old')]).toEqual([204, 204]);
});
