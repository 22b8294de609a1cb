import { beforeAll, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`unknown${at}`, 1]));
const messages = async (operation: string, type: string, input: unknown) => {
  const query = `mutation($input: ${type}!) { ${operation}(input: $input) { __typename } }`;
  const { errors = [] } = await gateway.graphql(key, query, { input });
  return errors.map(({ message }) => message);
};
const refused = (place: string) => `Variable "$input" has invalid value${place}: must have at most 500 properties.`;

test.each([
  ['at the top', 'createSession', 'CreateSessionInput', '', { title: 't', ...named(5000) }],
  [
    'inside another object',
    'createMcpServer',
    'CreateMcpServerInput',
    ' at .remote',
    { remote: { name: 'n', ...named(5000) } },
  ],
  [
    'in a list',
    'appendSessionEvents',
    'AppendSessionEventsInput',
    ' at .events.1',
    { sessionId: 's', events: [{}, named(5000)] },
  ],
])('very many unknown names %s of a variable get one error', async (_, mutation, type, place, input) => {
  // The first request of a document and later ones are handled in different places.
  for (let run = 0; run < 4; run += 1) expect(await messages(mutation, type, input)).toEqual([refused(place)]);
});

test('of fewer unknown names, the first ten are reported', async () => {
  for (let run = 0; run < 4; run += 1) {
    const reported = await messages('createSession', 'CreateSessionInput', { title: 't', ...named(60) });
    expect(reported).toHaveLength(11);
    expect(reported[0]).toMatch(/unknown field "unknown0"/);
    expect(reported[10]).toMatch(/^Too many errors processing variables/);
  }
});

test('REST: of many unknown names, 20 are listed and the others counted; of very many, none', async () => {
  const body = { title: 't', level: -1, ...named(498) };
  const answer = await gateway.rest<{ error: string }>('POST', '/v1/sessions', { key, body });
  expect(answer.status).toBe(400);
  expect(answer.body.error.split('; ')).toEqual([
    'level: must be at least 0',
    ...Array.from({ length: 19 }, (_, at) => `unknown${at}: is not a known property`),
    'and 479 more',
  ]);
  const wider = await gateway.rest<{ error: string }>('POST', '/v1/sessions', { key, body: { ...body, one: 1 } });
  expect([wider.status, wider.body.error]).toEqual([400, 'the body must have at most 500 properties']);
});
