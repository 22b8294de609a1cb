import { beforeAll, describe, expect, test } from 'vitest';
import { createDemoWorkspace } from '../../../src/operator/demo-workspace.ts';
import { type Example, LATEST } from '../../../src/gateway/pages/browser/graphiql-examples.ts';
import { EXAMPLES } from '../../support/graphiql-examples.ts';
import { type Workspace, openedExample } from '../../../src/gateway/pages/browser/graphiql-variables.ts';
import { type GraphQLAnswer, useOwnGateway } from '../../support/fixtures/gateway.ts';
import { createSession, moveTo, subscribe } from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

/** Every example, opened as the page opens it, runs in every workspace. */

const gateway = useOwnGateway();
let demoKey: string;
beforeAll(async () => {
  demoKey = (await createDemoWorkspace(gateway.dependencies))?.key ?? '';
});

async function opened(key: string, example: Example): Promise<Example> {
  const { data, errors } = await gateway.graphql<{ viewer: { organization: Workspace } }>(key, LATEST);
  expect(errors).toBeUndefined();
  return openedExample(example, data?.viewer.organization, EXAMPLES);
}

type Answered = Record<string, { __typename?: string } | null>;

/** The answer, or the first one of a subscription. */
async function answerOf(key: string, { query, variables = {} }: Example): Promise<GraphQLAnswer<Answered>> {
  if (!query.includes('\nsubscription')) return gateway.graphql<Answered>(key, query, variables);
  const stream = await subscribe(gateway, key, query, variables);
  const message = await stream.nextData();
  await stream.close();
  return JSON.parse(message?.data ?? '') as GraphQLAnswer<Answered>;
}

async function run(key: string, example: Example): Promise<void> {
  const { data, errors } = await answerOf(key, example);
  expect(errors).toBeUndefined();
  for (const field of Object.values(data ?? { none: null })) {
    expect(field).not.toBeNull();
    expect(field?.__typename ?? '').not.toMatch(/Error$/);
  }
}

describe('in the demo', () => {
  sampled(test, 6).for(EXAMPLES)('$noun: $name', async (example) => {
    const shown = await opened(demoKey, example);
    expect(shown.name).toBe(example.name);
    await run(demoKey, shown);
  });
});

describe('in an empty workspace', () => {
  sampled(test, 6).for(EXAMPLES)('$noun: $name', async (example) => {
    const { key } = await gateway.createKey();
    const shown = await opened(key, example);
    await run(key, shown);
    if (shown.name === example.name) return;
    // It was the creation of what the example needs.
    expect(shown.query).toContain(`"${example.name}" again`);
    const again = await opened(key, example);
    expect(again.name).toBe(example.name);
    // An empty session has no event to wait for.
    if (!again.query.includes('\nsubscription')) await run(key, again);
  });
});

test('a finished session is queued again, and takes no events', async () => {
  const { key } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  await moveTo(gateway, key, sessionId, 'CANCELLED');
  const found = EXAMPLES.filter(({ name }) => ['Record events', 'Change the state'].includes(name));
  const shown = await Promise.all(found.map((example) => opened(key, example)));
  expect(shown.map(({ name }) => name)).toEqual(['Create a session', 'Change the state']);
  expect(shown[1]?.variables).toEqual({ sessionId, state: 'QUEUED' });
  for (const each of shown) await run(key, each);
});

test('a visitor gets every example as it is', () => {
  for (const example of EXAMPLES) expect(openedExample(example, undefined, EXAMPLES)).toBe(example);
});

test('all lines are narrow enough for a window of 1280 pixels', async () => {
  const { key } = await gateway.createKey();
  const shown = await Promise.all(EXAMPLES.map((example) => opened(key, example)));
  const lines = [...EXAMPLES, ...shown].flatMap(({ query }) => query.split('\n'));
  expect(lines.filter((line) => line.length > 56)).toEqual([]);
});
