import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { type Occurrence, type SenderOptions, createSender } from '../../../src/operator/tracking-plan/sender.ts';

interface Received {
  readonly path: string | undefined;
  readonly key: string | undefined;
  readonly inputs: readonly (Occurrence & { uuid: string })[];
}
type Answer = { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
});

/** A server that gives the answers, then 204, and keeps what it got. `hangUp` closes the connection without an answer. */
async function startPeer(answerOf: (received: Received, count: number) => Answer | 'hangUp' = () => ({ status: 204 })) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      const { inputs } = body as Pick<Received, 'inputs'>;
      const each = { path: request.url, key: request.headers.authorization, inputs };
      received.push(each);
      const answer = answerOf(each, received.length);
      if (answer === 'hangUp') response.destroy();
      else response.writeHead(answer.status, answer.headers).end(answer.body ?? 'the reason');
    });
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { received, gateway: `http://127.0.0.1:${port}/` };
}

function senderTo(gateway: string, options: Partial<SenderOptions> = {}) {
  const failed: [string, number][] = [];
  const onError = (error: Error, occurrences: readonly Occurrence[]) =>
    failed.push([error.message, occurrences.length]);
  return { failed, ...createSender({ gateway, key: 'wgk_test', onError, retryDelaysMs: [1, 1, 1], ...options }) };
}

test('occurrences are sent in batches of at most 500, in order, each with its own key and time', async () => {
  const { received, gateway } = await startPeer();
  const { send, flush, failed } = senderTo(gateway);
  for (let index = 0; index < 1_203; index += 1) send('viewed', { index }, { email: 'ann@example.com' } as object);
  await flush();
  expect(failed).toEqual([]);
  expect(received.map(({ path, key, inputs }) => [path, key, inputs.length])).toEqual(
    [500, 500, 203].map((count) => ['/events/2026-03/send/batch', 'Bearer wgk_test', count]),
  );
  const all = received.flatMap(({ inputs }) => inputs);
  expect(all.map(({ properties }) => properties)).toEqual(Array.from({ length: 1_203 }, (_, index) => ({ index })));
  expect(new Set(all.map(({ uuid }) => uuid)).size).toBe(1_203);
  expect(all[0]).toEqual({
    eventName: 'viewed',
    properties: { index: 0 },
    email: 'ann@example.com',
    occurredAt: expect.stringMatching(/^\d{4}-.*Z$/),
    uuid: expect.any(String),
  });
});

test('a request is repeated with the same keys after a lost connection, 429 and 503', async () => {
  const answers: (Answer | 'hangUp')[] = ['hangUp', { status: 429, headers: { 'Retry-After': '0' } }, { status: 503 }];
  const { received, gateway } = await startPeer((_, count) => answers[count - 1] ?? { status: 204 });
  const { send, flush, failed } = senderTo(gateway);
  send('viewed', {}, { uuid: 'once', occurredAt: new Date(0) });
  await flush();
  expect(failed).toEqual([]);
  expect(received).toHaveLength(4);
  for (const { inputs } of received)
    expect(inputs).toEqual([
      { eventName: 'viewed', properties: {}, uuid: 'once', occurredAt: '1970-01-01T00:00:00.000Z' },
    ]);
});

test('an absent key and time are set, and later changes of the properties are not sent', async () => {
  const { received, gateway } = await startPeer();
  const { send, flush } = senderTo(gateway);
  const properties = { color: 'red' };
  send('viewed', properties, { uuid: undefined, occurredAt: undefined });
  properties.color = 'blue';
  await flush();
  expect(received[0]?.inputs).toEqual([
    {
      eventName: 'viewed',
      properties: { color: 'red' },
      occurredAt: expect.stringMatching(/^\d{4}-.*Z$/),
      uuid: expect.any(String),
    },
  ]);
});

test('a request is repeated if the time to wait is given as a date', async () => {
  const retryAfter = { status: 503, headers: { 'Retry-After': new Date(0).toUTCString() } };
  const { received, gateway } = await startPeer((_, count) => (count === 1 ? retryAfter : { status: 204 }));
  const { send, flush, failed } = senderTo(gateway);
  send('viewed', {});
  await flush();
  expect([received.length, failed]).toEqual([2, []]);
});

test('of a refused batch only the refused occurrences are given up', async () => {
  const isBad = ({ properties }: Occurrence) => 'bad' in properties;
  const { received, gateway } = await startPeer(({ inputs }) => ({ status: inputs.some(isBad) ? 400 : 204 }));
  const { send, flush, failed } = senderTo(gateway);
  for (let index = 0; index < 100; index += 1) send('viewed', index === 7 || index === 90 ? { bad: index } : { index });
  await flush();
  expect(failed).toEqual([
    ['the gateway answered 400: the reason', 1],
    ['the gateway answered 400: the reason', 1],
  ]);
  const accepted = received.flatMap(({ inputs }) => (inputs.some(isBad) ? [] : inputs));
  expect(accepted).toHaveLength(98);
});

test('a refused batch is sent again once, without the occurrences that the gateway names', async () => {
  const faultsOf = ({ inputs }: Received) =>
    inputs.flatMap(({ properties }, index) =>
      'bad' in properties
        ? [{ message: 'is not defined', code: 'UNKNOWN_FIELD', in: `inputs.${index}.properties.bad` }]
        : [],
    );
  const { received, gateway } = await startPeer((each) => {
    const errors = faultsOf(each);
    return errors.length > 0 ? { status: 400, body: JSON.stringify({ errors }) } : { status: 204 };
  });
  const { send, flush, failed } = senderTo(gateway);
  for (let index = 0; index < 100; index += 1) send('viewed', index === 7 || index === 90 ? { bad: index } : { index });
  await flush();
  expect(failed).toEqual([
    ['properties.bad: is not defined', 1],
    ['properties.bad: is not defined', 1],
  ]);
  expect(received.map(({ inputs }) => inputs.length)).toEqual([100, 98]);
});

test('what is refused for another reason, for too long, or is too much is given up at once and reported', async () => {
  const { received, gateway } = await startPeer(() => ({ status: 403 }));
  const { send, flush, failed } = senderTo(gateway, { maxWaiting: 2 });
  for (let index = 0; index < 3; index += 1) send('viewed', {});
  await flush();
  expect(failed).toEqual([
    ['too many occurrences wait to be sent', 1],
    ['the gateway answered 403: the reason', 2],
  ]);
  expect(received).toHaveLength(1);

  const monthly = await startPeer(() => ({ status: 429, headers: { 'Retry-After': '86400' } }));
  const limited = senderTo(monthly.gateway);
  limited.send('viewed', {});
  await limited.flush();
  expect([limited.failed.length, monthly.received.length]).toEqual([1, 1]);

  const away = senderTo('http://127.0.0.1:1');
  away.send('viewed', {});
  await away.flush();
  expect(away.failed).toEqual([['fetch failed', 1]]);
});

test('a redirect is not followed, so that the key is sent to nobody else', async () => {
  const other = await startPeer();
  const { gateway } = await startPeer(() => ({ status: 307, headers: { Location: other.gateway } }));
  const { send, flush, failed } = senderTo(gateway);
  send('viewed', {});
  await flush();
  expect([failed.length, other.received.length]).toEqual([1, 0]);
});

test('without a call of flush, occurrences are sent after the delay', async () => {
  const arrived = Promise.withResolvers<number>();
  const { gateway } = await startPeer(({ inputs }) => {
    arrived.resolve(inputs.length);
    return { status: 204 };
  });
  const { send, flush } = senderTo(gateway, { delayMs: 1 });
  send('viewed', {});
  send('viewed', {});
  expect(await arrived.promise).toBe(2);
  await flush();
});

test('what cannot be sent is reported with its name, and everything else is sent', async () => {
  const { received, gateway } = await startPeer();
  const { failures, send, flush } = reportingSenderTo(gateway);
  const circular: Record<string, unknown> = {};
  circular['self'] = circular;
  const hostile = {
    get price() {
      // Not an error, and cannot be made a text.
      throw Object.create(null) as Error;
    },
  };
  const lost: [object, RegExp][] = [
    [{ count: 1n }, /^count: 1 cannot be sent$/],
    [{ price: Number.NaN }, /^price: NaN cannot be sent$/],
    [{ price: -Infinity }, /^price: -Infinity cannot be sent$/],
    [{ seen_at: new Date('yesterday') }, /^seen_at: Invalid Date cannot be sent$/],
    [{ when: () => 1 }, /^when: .* cannot be sent$/],
    [{ mark: Symbol('x') }, /^mark: Symbol\(x\) cannot be sent$/],
    [circular, /circular/],
    [hostile, /^cannot be sent$/],
  ];
  for (const [properties] of lost) send('viewed', properties);
  send('viewed', {}, { occurredAt: new Date(Number.NaN) });
  send('viewed', {}, null as never);
  send('viewed', { color: 'red', size: undefined, note: null });
  await flush();
  expect(failures).toEqual([
    ...lost.map(([properties, message]) => [expect.stringMatching(message), properties]),
    ['occurredAt: Invalid Date cannot be sent', {}],
    [expect.any(String), {}],
  ]);
  expect(received.flatMap(({ inputs }) => inputs.map(({ properties }) => properties))).toEqual([
    { color: 'red', note: null },
  ]);
});

test.each([
  () => {
    throw new Error('of the program');
  },
  () => Promise.reject(new Error('of the program')),
])('an onError that fails ends nothing: neither the program nor the sending', async (onError) => {
  const rejections: unknown[] = [];
  const note = (reason: unknown) => rejections.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  const { received, gateway } = await startPeer((_, count) => ({ status: count === 1 ? 403 : 204 }));
  const { send, flush } = senderTo(gateway, { onError });
  send('viewed', { price: Number.NaN });
  send('viewed', { place: 1 });
  await flush();
  send('viewed', { place: 2 });
  await flush();
  expect(received.map(({ inputs }) => inputs.map(({ properties }) => properties))).toEqual([
    [{ place: 1 }],
    [{ place: 2 }],
  ]);
  expect(rejections).toEqual([]);
});

test.each([
  ['as on a page over plain http', { getRandomValues: crypto.getRandomValues.bind(crypto) }],
  ['missing', undefined],
])('each occurrence has a key of its own where crypto is %s', async (_, given) => {
  vi.stubGlobal('crypto', given);
  onTestFinished(() => void vi.unstubAllGlobals());
  const { received, gateway } = await startPeer();
  const { send, flush, failed } = senderTo(gateway);
  for (let index = 0; index < 100; index += 1) send('viewed', {});
  await flush();
  const keys = received.flatMap(({ inputs }) => inputs.map(({ uuid }) => uuid));
  expect([failed, keys.length, new Set(keys).size]).toEqual([[], 100, 100]);
});

/** A sender that keeps the message and the properties of each occurrence that is given up. */
function reportingSenderTo(gateway: string) {
  const failures: [string, object][] = [];
  const onError = (error: Error, occurrences: readonly Occurrence[]) => {
    for (const { properties } of occurrences) failures.push([error.message, properties]);
  };
  return { failures, ...senderTo(gateway, { onError }) };
}
