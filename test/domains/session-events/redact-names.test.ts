import { expect, test } from 'vitest';
import { indexSessions } from '../../../src/domains/session-events/search-index.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { readByAllPaths } from '../../support/fixtures/read-paths.ts';
import { append, mutate, pullRequestInput } from '../../support/fixtures/sessions.ts';
import { recordSession } from '../../support/fixtures/workspace.ts';

/** Redacting a text in what names sessions and events: agents, branches, types. */

const gateway = useTestGateway();
const WORD = 'swordfish';

test('agent, branches, kind and ids in other systems of a session, branches of pull requests, types and providers of events', async () => {
  const { key, organizationId } = await gateway.createKey();
  const named = Object.fromEntries(
    ['agent', 'baseBranch', 'branchName', 'targetBranch', 'kind', 'externalId'].map((name) => [
      name,
      `${name}/${WORD}-1`,
    ]),
  );
  const { sessionId, artifactId } = await recordSession(gateway, key, {
    ...named,
    projectId: `of ${WORD}`,
    externalUrl: `https://tracker.example/${WORD}`,
  });
  const eventOf = (eventType: string, provider: string, eventData: object) => ({ eventType, provider, eventData });
  await append(gateway, key, sessionId, [
    eventOf(`${WORD}.begin`, 'p', { type: 'x' }),
    eventOf('e', WORD, { type: 'x' }),
    eventOf('e', 'p', { type: 'x', toolName: `${WORD}_tool`, toolResult: { status: 'error' } }),
    eventOf('e', 'p', { type: 'x', usage: { model: `${WORD}-large`, inputTokens: 1 } }),
    eventOf('other', 'p', { type: 'x' }),
  ]);
  const pullRequest = pullRequestInput(artifactId);
  const branches = { sourceBranch: `${WORD}/a`, baseBranch: `${WORD}/b`, agent: WORD };
  await mutate(gateway, key, 'recordPullRequest', { ...pullRequest, ...branches, url: 'https://code.example/pull/9' });
  while ((await indexSessions(gateway.dependencies.database.em)) > 0);
  const to = { key, sessionId, artifactId, organizationId, word: WORD };
  const having = async () =>
    [...(await readByAllPaths(gateway, to))].flatMap(([path, answer]) => (answer.includes(WORD) ? [path] : []));
  expect((await having()).length).toBeGreaterThan(10);
  const { sql } = gateway.dependencies;
  const sums = () => sql.query('select agent, model, tool from usage_sum where organization_id = $1', [organizationId]);
  const before = await sums();

  const answer = await gateway.rest<{ redactedEvents: number }>('POST', `/v1/sessions/${sessionId}/redact`, {
    key,
    body: { text: WORD },
  });
  expect(answer).toMatchObject({ status: 200, body: { redactedEvents: 4 } });
  expect((await having()).filter((path) => !/usage/i.test(path))).toEqual([]);
  const session = await gateway.rest('GET', `/v1/sessions/${sessionId}`, { key });
  expect(session.body).toMatchObject({
    agent: 'agent/[redacted]-1',
    branchName: 'branchName/[redacted]-1',
    externalUrl: 'https://tracker.example/[redacted]',
  });
  const events = await gateway.rest<{ items: { eventType: string; provider: string }[] }>(
    'GET',
    `/v1/sessions/${sessionId}/events?limit=100`,
    { key },
  );
  expect(events.body.items.slice(-5).map(({ eventType, provider }) => [eventType, provider])).toEqual([
    ['[redacted].begin', 'p'],
    ['e', '[redacted]'],
    ['e', 'p'],
    ['e', 'p'],
    ['other', 'p'],
  ]);
  const [names] = await sql.query('select models, tools, failed_tools from session_search where session_id = $1', [
    sessionId,
  ]);
  expect(names).toEqual({
    models: ['[redacted]-large'],
    tools: ['[redacted]_tool'],
    failed_tools: ['[redacted]_tool'],
  });
  // What was counted stays counted under its name.
  expect(await sums()).toEqual(before);
});

test('an address in another system that is none any more is gone, and the id of a project stays', async () => {
  const { key } = await gateway.createKey();
  const project = { id: '7d444840-9dc0-11d1-b245-5ffdce74fad2', name: 'Orion' };
  const { sessionId } = await recordSession(gateway, key, { project, externalUrl: `https://9dc0.${WORD}.example/` });
  for (const text of [WORD, '9dc0']) {
    const path = `/v1/sessions/${sessionId}/redact`;
    expect((await gateway.rest('POST', path, { key, body: { text } })).status).toBe(200);
  }
  const { body } = await gateway.rest('GET', `/v1/sessions/${sessionId}`, { key });
  expect(body).toMatchObject({ externalUrl: null, projectId: project.id });
});

test('a retry of a batch is the same one after the type and the provider of its events were redacted', async () => {
  const { key } = await gateway.createKey();
  const { sessionId } = await recordSession(gateway, key);
  const send = (eventType: string) => {
    const events = [{ eventType, provider: `by ${WORD}`, eventData: { type: 'x' } }];
    return gateway.rest('POST', `/v1/sessions/${sessionId}/events`, { key, body: { batchId: 'retried', events } });
  };
  expect((await send(`${WORD}.begin`)).status).toBe(201);
  await gateway.rest('POST', `/v1/sessions/${sessionId}/redact`, { key, body: { text: WORD } });
  expect(await send(`${WORD}.begin`)).toMatchObject({ status: 201, body: { isReplayed: true } });
  expect((await send('other.end')).status).toBe(409);
});
