import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type UseFixture,
  answering,
  legacyServer,
  post,
  postTo,
  startUseFixture,
  toolCall,
  toolCallers,
} from '../../support/fixtures/mcp-use.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

/** Messages and answers that are nested deeply. */

let fixture: UseFixture;
let restricted: string;
let session: string;
beforeAll(async () => {
  fixture = await startUseFixture();
  restricted = await fixture.connect();
  const { gateway, key } = fixture;
  const body = { toolPolicy: { mode: 'ONLY', names: ['add'] } };
  await gateway.rest('PATCH', `/v1/mcp-connections/${restricted}/settings`, { key, body });
  session = await createSession(gateway, key, { mcpServers: [fixture.connectionId] });
});
afterAll(() => fixture.stop());

const { rest, graphql } = toolCallers(
  () => fixture,
  () => fixture.connectionId,
);
const toSession = (message: unknown) => postTo(`${fixture.url}/v1/sessions/${session}/mcp`, fixture.key, message);
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

sampled(describe, 1).each([600, 9_000, 100_000])('an answer of %d levels', (levels) => {
  const result = `{"content":[],"isError":true,"structuredContent":${nested(levels)}}`;
  const list = `{"tools":[{"name":"now"}, {"x":${nested(levels)},"name":"add"}],"nextCursor":"n"}`;
  const message = (value: string) => ` {"jsonrpc":"2.0", "id":1,"result":${value}}`;

  test('is passed through byte for byte, and its outcome is recorded', async () => {
    for (const connectionId of [fixture.connectionId, restricted]) {
      fixture.peer.handler = answering(message(result));
      expect(await (await post({ ...fixture, connectionId }, toolCall())).text()).toBe(message(result));
      const events = `id: 1\ndata: ${message(result)}\n\n`;
      fixture.peer.handler = answering(events, { headers: { 'Content-Type': 'text/event-stream' } });
      expect(await (await post({ ...fixture, connectionId }, toolCall())).text()).toBe(events);
    }
    const entries = await fixture.gateway.dependencies.sql.query<{ outcome: string }>(
      `select tool_call->>'outcome' as outcome from audit_entry where tool_call is not null order by occurred_at desc limit 4`,
      [],
    );
    expect(entries.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 4 }, () => 'TOOL_ERROR'));
  });

  test('with tools is passed through without those that are not allowed', async () => {
    const asked = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    fixture.peer.handler = answering(message(list));
    expect(await (await post({ ...fixture, connectionId: restricted }, asked)).text()).toBe(
      `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"x":${nested(levels)},"name":"add"}],"nextCursor":"n"}}`,
    );
  });

  test('is refused with the bound where it would be written again', async () => {
    fixture.peer.handler = legacyServer(`"result":${result}`);
    const text = 'the answer of the MCP server must not be nested deeper than 500 levels';
    const called = await rest({ name: 'add' });
    expect([called.status, called.body.error]).toEqual([502, text]);
    expect(await graphql({ name: 'add' })).toMatchObject({ __typename: 'RemoteFailedError', message: text });
    const answer = await toSession(toolCall('server-1__add'));
    expect([answer.status, await answer.json()]).toMatchObject([
      502,
      { id: 1, error: { message: text, data: { code: 'ANSWER_TOO_LARGE' } } },
    ]);
    const listed = await toSession({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect(listed.status).toBe(200);
  });
});

sampled(test, 1).each([501, 9_000, 100_000])(
  '400: arguments of %d levels are refused with the bound',
  async (levels) => {
    const args = `{"x":${nested(levels)}}`;
    const called = await fixture.gateway.fetch(`/v1/mcp-connections/${fixture.connectionId}/tool-calls`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${fixture.key}`, 'Content-Type': 'application/json' },
      body: `{"name":"add","arguments":${args}}`,
    });
    expect([called.status, await called.text()]).toEqual([
      400,
      expect.stringContaining('nested deeper than 500 levels'),
    ]);
    const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"server-1__add","arguments":${args}}}`;
    for (const answer of [
      await post(fixture, message),
      await post({ ...fixture, connectionId: restricted }, message),
      await toSession(message),
    ])
      expect([answer.status, await answer.json()]).toMatchObject([
        400,
        { error: { code: -32600, message: expect.stringContaining('nested deeper than 500 levels') } },
      ]);
  },
);
