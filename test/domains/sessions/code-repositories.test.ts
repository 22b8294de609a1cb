import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession, mutate, pullRequestInput } from '../../support/fixtures/sessions.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const NODE = 'query($id: ID!) { node(id: $id) { id ... on CodeRepository { databaseId name } } }';

test('the repository of several pull requests is one node, which has what was recorded last and the caller can read', async () => {
  const admin = await gateway.createKey();
  const member = await gateway.createKey({ organization: admin.organization });
  const record = async (visibility: string, name: string) => {
    const sessionId = await createSession(gateway, admin.key, { visibility });
    const { artifact } = await mutate<{ artifact: { databaseId: string } }>(
      gateway,
      admin.key,
      'recordArtifact',
      { sessionId, type: 'PULL_REQUEST' },
      'artifact { databaseId }',
    );
    const input = pullRequestInput(artifact.databaseId);
    const { pullRequest } = await mutate<{ pullRequest: { codeRepository: { id: string; databaseId: string } } }>(
      gateway,
      admin.key,
      'recordPullRequest',
      { ...input, codeRepository: { ...input.codeRepository, name } },
      'pullRequest { codeRepository { id databaseId } }',
    );
    return pullRequest.codeRepository;
  };
  const first = await record('PUBLIC', 'shop');
  const second = await record('PRIVATE', 'renamed');
  expect(second).toEqual(first);
  const read = async (key: string) => (await gateway.graphql(key, NODE, { id: first.id })).data;
  const { id, databaseId } = first;
  expect(await read(admin.key)).toEqual({ node: { id, databaseId, name: 'renamed' } });
  expect(await read(member.key)).toEqual({ node: { id, databaseId, name: 'shop' } });
  // The same id in another organization is another repository.
  const stranger = await gateway.createKey();
  expect(await read(stranger.key)).toEqual({ node: null });
});
