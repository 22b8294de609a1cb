import { GraphQLError } from 'graphql';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { answerResult } from '../../../src/gateway/graphql/answer.ts';

test('an error within an event of a subscription has no HTTP status, because the event has none', async () => {
  const http = { status: 503, headers: { 'Retry-After': '1' } };
  async function* events() {
    yield { data: null, errors: [new GraphQLError('away', { extensions: { code: 'UNAVAILABLE', http } })] };
  }
  const { body } = answerResult(events(), {
    mediaType: 'text/event-stream',
    requestId: 'r1',
    maxBytes: 1_000,
    logs: { log: pino({ enabled: false }) },
  });
  const text = await new Response(body as ReadableStream).text();
  expect(text).toContain(
    'event: next\ndata: {"data":null,"errors":[{"message":"away","extensions":{"code":"UNAVAILABLE"}}]}',
  );
});
