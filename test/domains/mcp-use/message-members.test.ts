import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type UseFixture, legacyServer, post, postTo, startUseFixture } from '../../support/fixtures/mcp-use.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { mcpHandler } from '../../support/peers/mcp-server.ts';
import { sampled } from '../../support/sample.ts';

/** No server can read another message than the gateway, which decides what is allowed. */

let fixture: UseFixture;
let restricted: string;
/** The bodies that the server has received. */
let received: string[] = [];
beforeAll(async () => {
  fixture = await startUseFixture();
  restricted = await fixture.connect();
  await fixture.gateway.rest('PATCH', `/v1/mcp-connections/${restricted}/settings`, {
    key: fixture.key,
    body: { toolPolicy: { mode: 'ONLY', names: ['add'] } },
  });
});
afterAll(() => fixture.stop());
beforeEach(() => {
  received = [];
  fixture.peer.handler = (request, response) =>
    void text(request).then((body) => {
      received.push(body);
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"jsonrpc":"2.0","id":1,"result":{}}');
    });
});

const START = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"';
const AMBIGUOUS: readonly (readonly [string, string])[] = [
  ['name twice', `${START},"name":"now"}}`],
  ['name twice, once escaped', String.raw`${START},"n\u0061me":"now"}}`],
  ['params twice', `${START}},"params":{"name":"now"}}`],
  ['method twice', '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"now"}}'],
  ['id twice', `${START}},"id":2}`],
  ['arguments twice', `${START},"arguments":{},"arguments":{"a":1}}}`],
  ['capital letters', `${START},"NAME":"now"}}`],
  ['a capital letter', `${START}},"Params":{"name":"now"}}`],
  ['a long s', `${START}},"param\u017F":{"name":"now"}}`],
  ['a Kelvin sign', `${START},"tas\u212A":{}}}`],
  ['a dotted I', `${START}},"\u0130d":2}`],
  ['full-width letters', `${START},"\uFF4E\uFF41\uFF4D\uFF45":"now"}}`],
  ['a combining mark', `${START},"name\u0301":"now"}}`],
  ['another method in capital letters', '{"jsonrpc":"2.0","id":1,"method":"tools/list","METHOD":"tools/call","params":{"name":"now"}}'],
]; // prettier-ignore
const UNKNOWN: readonly (readonly [string, string])[] = [
  ['beside the method', `${START}},"tool":"now"}`],
  ['beside the name', `${START},"tool":"now"}}`],
  ['a prototype', `${START}},"__proto__":{"params":{"name":"now"}}}`],
  ['a prototype of the parameters', `${START},"__proto__":{"name":"now"}}}`],
  ['an empty name', `${START},"":"now"}}`],
  ['a name with a NUL character', String.raw`${START},"name\u0000":"now"}}`],
  ['500 members', `${START}${Array.from({ length: 500 }, (_, index) => `,"x${index}":1`).join('')}}}`],
];

sampled(test, 5).each([...AMBIGUOUS, ...UNKNOWN, ['a batch', `[${START}}}]`] as const])(
  'a restricted connection refuses %s, and nothing is sent',
  async (_, body) => {
    const answer = await post({ ...fixture, connectionId: restricted }, body);
    expect([answer.status, await answer.json()]).toMatchObject([400, { jsonrpc: '2.0', error: { code: -32600 } }]);
    expect(received).toEqual([]);
  },
);

sampled(test, 4).each(AMBIGUOUS)(
  'every connection refuses %s: what is recorded is what the server does',
  async (_, body) => {
    const answer = await post(fixture, body);
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { id: expect.anything(), error: { code: -32600 } },
    ]);
    expect(received).toEqual([]);
  },
);

test('the message names the member', async () => {
  const refused = async (body: string) => {
    const answer = await post({ ...fixture, connectionId: restricted }, body);
    return ((await answer.json()) as { error: { message: string } }).error.message;
  };
  expect(await refused(`${START},"name":"now"}}`)).toBe('the member name occurs twice');
  expect(await refused(`${START},"NAME":"now"}}`)).toBe(
    'the member NAME differs only in the form of its letters from one of the protocol',
  );
  expect(await refused(`${START},"tool":"now"}}`)).toBe(
    'the member tool is not one of the protocol, and the tools of this connection are restricted',
  );
});

const CLEAR = [
  ' {"id" : 1,"jsonrpc":"2.0", "params":{"arguments":{"name":"now","name":"x","n":1.50},"name":"add","_meta":{"Name":1}},"method":"tools/call"}\n',
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","task":{},"inputResponses":{},"requestState":"s"}}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"c","vendor":1}}',
  '{"jsonrpc":"2.0","id":1,"result":{"method":"tools/call"}}',
  '{"jsonrpc":"2.0","method":"notifications/initialized"}',
];

test.each(CLEAR)('a clear message is passed through byte for byte, restricted or not: %s', async (body) => {
  for (const connectionId of [fixture.connectionId, restricted])
    expect((await post({ ...fixture, connectionId }, body)).status).toBe(200);
  expect(received).toEqual([body, body]);
});

test('members that the protocol does not know are passed through where no tools are restricted', async () => {
  const bodies = [
    ...UNKNOWN.slice(0, -1).map(([, body]) => body),
    '{"jsonrpc":"2.0","id":1,"method":"vendor/thing","name":"x","params":{"id":1,"method":"m","result":{}}}',
    `${START},"uri":"a:b","taskId":"t"}}`,
  ];
  for (const body of bodies) expect((await post(fixture, body)).status).toBe(200);
  expect(received).toEqual(bodies);
  const tooMany = await post(fixture, UNKNOWN.at(-1)?.[1]);
  expect(await tooMany.json()).toMatchObject({
    error: { message: 'an object of the message has more than 500 members' },
  });
});

test('the endpoint of a session sends known members only', async () => {
  fixture.peer.handler = mcpHandler();
  const { gateway, key } = fixture;
  const sessionId = await createSession(gateway, key, { mcpServers: [restricted] });
  fixture.peer.handler = legacyServer((response, body) => {
    received.push(body);
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"jsonrpc":"2.0","id":1,"result":{}}');
  });
  const body =
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"server-2__add","NAME":"now","x":1,"__proto__":{"name":"now"},"arguments":{"NAME":1}}}';
  expect((await postTo(`${fixture.url}/v1/sessions/${sessionId}/mcp`, key, body)).status).toBe(200);
  expect(received.map((each): unknown => JSON.parse(each))).toEqual([
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'add', arguments: { NAME: 1 } } },
  ]);
});
