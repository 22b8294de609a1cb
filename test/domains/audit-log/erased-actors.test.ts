import { expect, test } from 'vitest';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { runJobs } from '../../support/processes/jobs.ts';

const gateway = useOwnGateway();

const LOG = `{ viewer { organization { auditLog(first: 20, filter: { operations: ["createSession"] }) { nodes { actorLabel } } } } }`;
async function labels(key: string): Promise<string[]> {
  const { data } = await gateway.graphql<{
    viewer: { organization: { auditLog: { nodes: { actorLabel: string }[] } } };
  }>(key, LOG);
  return data?.viewer.organization.auditLog.nodes.map(({ actorLabel }) => actorLabel) ?? [];
}

test('two administrators who have deleted their accounts can be told apart, whatever keys they used', async () => {
  const { key, organization, email } = await gateway.createKey();
  const other = { organization, role: 'admin' } as const;
  const one = [await gateway.createKey(other)];
  one.push(await gateway.createKey({ ...other, email: one[0]?.email ?? '' }));
  const two = await gateway.createKey(other);
  for (const each of [...one, two, { key }]) await createSession(gateway, each.key);
  expect((await labels(key)).toReversed()).toEqual([one[0]?.email, one[0]?.email, two.email, email]);
  for (const each of [one[0], two]) await gateway.rest('DELETE', `/v1/users/${each?.userId}`, { key: each?.key ?? '' });
  await runJobs(gateway);
  const [first, again, second, last] = (await labels(key)).toReversed();
  expect([first, second]).toEqual([1, 2].map(() => expect.stringMatching(/^Deleted person [0-9a-f]{12}$/)));
  expect([again, last]).toEqual([first, email]);
  expect(first).not.toBe(second);
});
