import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { exampleOf } from '../../../src/core/documents.ts';
import { pullRequestDocument } from '../../../src/domains/sessions/documents.ts';
import { type TestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';

/** A runner that uses only REST: it creates a session, moves it through its states, and records its results. */

const {
  id: _id,
  createdAt: _createdAt,
  updatedAt: _updatedAt,
  ...recordedPullRequestExample
} = exampleOf(pullRequestDocument);

const gateway = useTestGateway();
type Issued = Awaited<ReturnType<TestGateway['createKey']>>;
let owner: Issued;
let runner: string;
beforeAll(async () => {
  owner = await gateway.createKey();
  const { email, organization } = owner;
  runner = (await gateway.createKey({ email, organization, scopes: ['sessions.record'] })).key;
});

const post = <Body = Record<string, unknown>>(path: string, body: object, key = runner, headers = {}) =>
  gateway.rest<Body>('POST', path, { key, body, headers });

async function newSession(): Promise<string> {
  return (await post<{ id: string }>('/v1/sessions', { title: 'Over REST' })).body.id;
}

test('a key with only sessions.record starts a session, records its results and finishes it', async () => {
  const id = await newSession();
  const started = await post(`/v1/sessions/${id}/transition`, { state: 'inProgress' });
  expect(started).toMatchObject({ status: 200, body: { id, state: { current: 'inProgress', inProgress: true } } });
  const artifact = await post<{ id: string }>(`/v1/sessions/${id}/artifacts`, { type: 'PullRequest' });
  expect(artifact).toMatchObject({ status: 201, body: { type: 'PullRequest', pullRequests: [] } });
  expect(Object.keys(artifact.body)).toEqual(['id', 'type', 'createdAt', 'updatedAt', 'pullRequests']);
  const path = `/v1/artifacts/${artifact.body.id}/pull-requests`;
  const recorded = await post<{ id: string }>(path, recordedPullRequestExample);
  expect(recorded).toMatchObject({ status: 201, body: recordedPullRequestExample });
  const merged = await post<{ id: string }>(path, { ...recordedPullRequestExample, status: 'merged' });
  expect([merged.status, merged.body.id]).toEqual([201, recorded.body.id]);
  const finished = await post(`/v1/sessions/${id}/transition`, { state: 'completed' });
  expect(finished.body['state']).toMatchObject({ current: 'completed', isCompleted: true });
  const read = await gateway.rest<{ artifacts: object[] }>('GET', `/v1/sessions/${id}`, { key: owner.key });
  expect(read.body.artifacts).toEqual([
    { ...artifact.body, updatedAt: merged.body['updatedAt' as 'id'], pullRequests: [merged.body] },
  ]);
});

test('409: a move that the state does not allow names the allowed ones as REST does', async () => {
  const id = await newSession();
  const { status, body } = await post(`/v1/sessions/${id}/transition`, { state: 'completed' });
  expect([status, body]).toEqual([
    409,
    { error: 'state: a session that is queued can become inProgress or cancelled, not completed' },
  ]);
});

test.each<[path: string, body: object, error: string]>([
  [
    '/v1/sessions/ID/transition',
    { state: 'IN_PROGRESS' },
    'state: must be one of "queued", "inProgress", "completed", "failed", "cancelled"',
  ],
  ['/v1/sessions/ID/transition', {}, 'state: is required'],
  [
    '/v1/sessions/ID/artifacts',
    { type: 'PULL_REQUEST' },
    'type: must be one of "PullRequest", "ToolCall", "Plan", "Response", "File", "Service", "Source"',
  ],
  ['/v1/sessions/ID/artifacts', { type: 'Plan', id: 'x' }, 'id: is not a known property'],
  ['/v1/artifacts/x/pull-requests', recordedPullRequestExample, 'artifactId: must be a UUID'],
])('400: %s %j', async (path, body, error) => {
  const answer = await post(path.replace('ID', await newSession()), body);
  expect([answer.status, answer.body]).toEqual([400, { error }]);
});

test('404: a missing artifact and one of a session that the caller cannot read are indistinguishable', async () => {
  const { organization } = owner;
  const artifact = await post<{ id: string }>(`/v1/sessions/${await newSession()}/artifacts`, { type: 'Plan' });
  const colleague = (await gateway.createKey({ organization, scopes: ['sessions.record'] })).key;
  const answers = [
    await post(`/v1/artifacts/${artifact.body.id}/pull-requests`, recordedPullRequestExample, colleague),
    await post(`/v1/artifacts/${randomUUID()}/pull-requests`, recordedPullRequestExample, colleague),
  ];
  expect(answers.map(({ status, text }) => [status, text])).toEqual([
    [404, '{"error":"artifact not found","details":{"type":"Artifact"}}'],
    [404, '{"error":"artifact not found","details":{"type":"Artifact"}}'],
  ]);
});

test('with an Idempotency-Key a retry of a transition and of an artifact replays the answer', async () => {
  const id = await newSession();
  for (const [path, body] of [
    ['transition', { state: 'inProgress' }],
    ['artifacts', { type: 'Plan' }],
  ] as const) {
    const headers = { 'Idempotency-Key': randomUUID() };
    const first = await post(`/v1/sessions/${id}/${path}`, body, runner, headers);
    const second = await post(`/v1/sessions/${id}/${path}`, body, runner, headers);
    expect([second.status, second.text]).toEqual([first.status, first.text]);
    expect(second.headers.get('Idempotent-Replayed')).toBe('true');
  }
});
