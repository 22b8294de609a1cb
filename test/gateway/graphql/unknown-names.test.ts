import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';

let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ key } = await gateway.createKey());
});
afterAll(() => gateway.close());

const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`unknown${at}`, 1]));
const messages = async (operation: string, type: string, input: unknown) => {
  const query = `mutation($input: ${type}!) { ${operation}(input: $input) { __typename } }`;
  const { errors = [] } = await gateway.graphql(key, query, { input });
  return errors.map(({ message }) => message);
};
const refused = (type: string) =>
  `Variable "$input" has invalid value: Expected value of type "${type}" not to include more than 100 unknown fields.`;

test.each([
  ['at the top', 'createSession', 'CreateSessionInput', 'CreateSessionInput', { title: 't', ...named(5000) }],
  [
    'inside another object',
    'createMcpServer',
    'CreateMcpServerInput',
    'RemoteMcpServerInput',
    { remote: { name: 'n', ...named(5000) } },
  ],
  [
    'in a list',
    'appendSessionEvents',
    'AppendSessionEventsInput',
    'RecordedEventInput',
    { sessionId: 's', events: [{}, named(5000)] },
  ],
])('very many unknown names %s of a variable get one error', async (_, mutation, type, wide, input) => {
  // The first request of a document and later ones are handled in different places.
  for (let run = 0; run < 4; run += 1) expect(await messages(mutation, type, input)).toEqual([refused(wide)]);
});

test('of fewer unknown names, the first ten are reported', async () => {
  for (let run = 0; run < 4; run += 1) {
    const reported = await messages('createSession', 'CreateSessionInput', { title: 't', ...named(60) });
    expect(reported).toHaveLength(11);
    expect(reported[0]).toMatch(/unknown field "unknown0"/);
    expect(reported[10]).toMatch(/^Too many errors processing variables/);
  }
});

test('REST: of very many unknown names, 100 are listed and the others counted', async () => {
  const body = { title: 't', level: -1, ...named(5000) };
  const answer = await gateway.rest<{ error: string }>('POST', '/v1/sessions', { key, body });
  expect(answer.status).toBe(400);
  expect(answer.body.error.split('; ')).toEqual([
    'level: must be at least 0',
    ...Array.from({ length: 99 }, (_, at) => `unknown${at}: is not a known property`),
    'and 4901 more',
  ]);
});
