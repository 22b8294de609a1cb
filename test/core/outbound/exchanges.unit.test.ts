import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import net, { type TcpNetConnectOpts } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Outbound, OutboundError, createOutbound } from '../../../src/core/outbound/outbound.ts';
import { Deadlines, outboundFailure as failure } from '../../support/fixtures/outbound.ts';
import { Listener } from '../../support/peers/listener.ts';

let victim: Listener;
let other: Listener;
let free: Outbound;
beforeAll(async () => {
  victim = await new Listener().start();
  other = await new Listener().start();
  free = createOutbound({ allowPrivateNetwork: true });
});
afterAll(async () => {
  await free.close();
  await victim.stop();
  await other.stop();
});

/** Connects requests for a host to loopback instead of its public address, after the address was checked. */
function routeToLoopback(hostname: string) {
  const connect = net.connect as (options: TcpNetConnectOpts) => net.Socket;
  const routed = ({ lookup, ...options }: TcpNetConnectOpts) =>
    connect({
      ...options,
      lookup: (name, wanted, callback) =>
        lookup?.(name, wanted, (error, address, family) => {
          if (error || name !== hostname) callback(error, address, family);
          else if (Array.isArray(address)) callback(null, [{ address: '127.0.0.1', family: 4 }]);
          else callback(null, '127.0.0.1', 4);
        }),
    });
  return vi.spyOn(net, 'connect').mockImplementation(routed as typeof net.connect);
}

describe('redirects', () => {
  test('are followed within the origin, at most 3', async () => {
    victim.handler = (request, response) => {
      const left = Number(request.url?.slice(1));
      if (left > 0) response.writeHead(302, { Location: `/${left - 1}` }).end();
      else response.end('arrived');
    };
    expect(await (await free.begin().fetch(`${victim.url}/3`)).text()).toBe('arrived');
    expect((await failure(free.begin().fetch(`${victim.url}/4`))).message).toBe(
      `127.0.0.1:${victim.port} redirects more than 3 times`,
    );
  });

  test.each([301, 302, 303, 307, 308])(
    'a %d redirect from a public server to an internal address is refused, and the internal server is not contacted',
    async (status) => {
      const strict = createOutbound({
        allowPrivateNetwork: false,
        resolve: async (name) => [name === 'public.example' ? '93.184.216.34' : '127.0.0.1'],
      });
      const route = routeToLoopback('public.example');
      const targets = ['127.0.0.1', '[::ffff:127.0.0.1]', 'localhost', 'inside.example'];
      const before = victim.connectionCount;
      const messages: string[] = [];
      try {
        for (const host of targets) {
          other.handler = (_, response) =>
            response.writeHead(status, { Location: `http://${host}:${victim.port}/` }).end();
          const asked = strict.begin().fetch(`http://public.example:${other.port}/`);
          messages.push((await failure(asked)).message);
        }
      } finally {
        route.mockRestore();
        await strict.close();
      }
      expect(messages).toEqual([
        expect.stringMatching(/^127\.0\.0\.1 is not a public address; /),
        expect.stringMatching(/^\[::ffff:7f00:1\] is not a public address; /),
        expect.stringMatching(/^localhost is not a public address; /),
        'the name inside.example cannot be resolved, or has an address that is not public',
      ]);
      expect(victim.connectionCount - before).toBe(0);
    },
  );

  test.each([301, 302, 303, 307, 308])(
    'a %d redirect to another scheme or with user information is refused, and its server is not contacted',
    async (status) => {
      victim.handler = (_, response) => response.end('inside');
      other.handler = (_, response) => response.writeHead(status, { Location: 'file:///etc/passwd' }).end();
      expect((await failure(free.begin().fetch(other.url))).message).toBe('only http and https URLs are allowed');
      other.handler = (_, response) =>
        response.writeHead(status, { Location: `http://user@127.0.0.1:${victim.port}/` }).end();
      const before = victim.connectionCount;
      expect((await failure(free.begin().fetch(other.url))).message).toMatch(/user information$/);
      expect(victim.connectionCount - before).toBe(0);
    },
  );

  test('to another origin are followed without Authorization and other sensitive headers', async () => {
    let seen: IncomingMessage['headers'] = {};
    victim.handler = (request, response) => {
      seen = request.headers;
      response.end('ok');
    };
    other.handler = (_, response) => response.writeHead(302, { Location: victim.url }).end();
    const headers = {
      Authorization: 'Bearer secret',
      'X-Api-Key': 'secret',
      Cookie: 'secret=1',
      Accept: 'application/json',
    };
    await (await free.begin().fetch(other.url, { headers })).text();
    expect(seen.accept).toBe('application/json');
    expect(JSON.stringify(seen)).not.toContain('secret');
    // Redirects within the origin keep the headers.
    victim.handler = (request, response) => {
      if (request.url === '/') {
        response.writeHead(302, { Location: '/again' }).end();
        return;
      }
      seen = request.headers;
      response.end('ok');
    };
    await (await free.begin().fetch(victim.url, { headers })).text();
    expect({ authorization: seen.authorization, key: seen['x-api-key'] }).toEqual({
      authorization: 'Bearer secret',
      key: 'secret',
    });
  });

  test('of a HEAD request to another origin are followed', async () => {
    victim.handler = (request, response) => response.setHeader('X-Method', request.method ?? '').end();
    other.handler = (_, response) => response.writeHead(302, { Location: victim.url }).end();
    const response = await free.begin().fetch(other.url, { method: 'head' });
    expect([response.headers.get('x-method'), await response.text()]).toEqual(['HEAD', '']);
  });

  test.each([
    [301, 'refused'],
    [302, 'refused'],
    [303, 'refused'],
    [307, 'POST a=1'],
    [308, 'POST a=1'],
  ])(
    'of a POST request within its origin are followed only if they keep its method and body (%d)',
    async (status, outcome) => {
      victim.handler = (request, response) => {
        if (request.url === '/') response.writeHead(status, { Location: '/again' }).end();
        else void text(request).then((body) => response.end(`${request.method} ${body}`));
      };
      const asked = free.begin().fetch(victim.url, { method: 'POST', body: 'a=1' });
      const described = (error: unknown) => (error instanceof OutboundError && !error.isTemporary ? 'refused' : error);
      expect(await asked.then((response) => response.text(), described)).toBe(outcome);
    },
  );

  test.each([301, 302, 303, 307, 308])('of a POST request to another origin are not followed (%d)', async (status) => {
    other.handler = (_, response) => response.writeHead(status, { Location: victim.url }).end();
    const before = victim.connectionCount;
    const error = await failure(free.begin().fetch(other.url, { method: 'POST', body: 'client_secret=s' }));
    expect(error.isTemporary).toBe(false);
    expect(error.message).toBe(
      `127.0.0.1:${other.port} redirects a POST request to http://127.0.0.1:${victim.port}/, which is not followed; enter that address if it is intended`,
    );
    expect(victim.connectionCount - before).toBe(0);
  });
});

describe('limits', () => {
  test('all answers of one unit of work together are limited to nine times the limit of one answer', async () => {
    const small = createOutbound({ allowPrivateNetwork: true, maxBytes: 10 });
    // In parts, so that no length is announced.
    victim.handler = ({ url = '' }, response) => {
      response.write('x');
      response.end('x'.repeat(Number(url.slice(1)) - 1));
    };
    const message = `127.0.0.1:${victim.port} answers with more than 10 bytes`;
    const work = small.begin();
    const read = async (length: number, one = work) => (await one.fetch(`${victim.url}/${length}`)).text();
    for (let time = 0; time < 9; time += 1) expect(await read(10)).toHaveLength(10);
    expect((await failure(read(1))).message).toBe(message);
    const next = small.begin();
    expect(await read(10, next)).toHaveLength(10);
    expect((await failure(read(11, next))).message).toBe(message);
    await small.close();
  });

  test('a body that is not wanted any more is not transferred further', async () => {
    const closed = Promise.withResolvers<void>();
    victim.handler = (_, response) => void response.on('close', closed.resolve).write('begins');
    const reader = (await free.begin().fetch(victim.url)).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await expect(closed.promise).resolves.toBeUndefined();
  });

  test('a request that its caller aborts fails with the reason of the caller', async () => {
    const caller = new AbortController();
    victim.handler = () => caller.abort(new Error('left'));
    await expect(free.begin().fetch(victim.url, { signal: caller.signal })).rejects.toThrow('left');
  });

  test('a body over 1 MiB is refused, with or without Content-Length', async () => {
    victim.handler = (_, response) => response.end(Buffer.alloc(1024 * 1024 + 1));
    const message = `127.0.0.1:${victim.port} answers with more than 1048576 bytes`;
    expect((await failure(free.begin().fetch(victim.url))).message).toBe(message);
    let sent = 0;
    victim.handler = (_, response) => {
      const write = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      response.on('drain', write);
      write();
    };
    const response = await free.begin().fetch(victim.url);
    expect((await failure(response.text())).message).toBe(message);
    expect(sent).toBeLessThan(64 * 1024 * 1024);
    victim.handler = (_, answer) => answer.end(Buffer.alloc(1024 * 1024));
    expect((await (await free.begin().fetch(victim.url)).arrayBuffer()).byteLength).toBe(1024 * 1024);
  });

  test('a small body that decompresses to more than 1 MiB is refused', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    victim.handler = (_, response) =>
      response.writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Length': bomb.length }).end(bomb);
    expect((await failure((await free.begin().fetch(victim.url)).text())).message).toMatch(
      /answers with more than 1048576 bytes$/,
    );
  });

  describe('in time', () => {
    let deadlines: Deadlines;
    let bounded: Outbound;
    beforeEach(() => {
      deadlines = new Deadlines();
      bounded = createOutbound({ allowPrivateNetwork: true, deadlineAfter: deadlines.after });
    });
    afterEach(() => bounded.close());

    test('the deadline is 30 seconds, or a shorter time of the caller', () => {
      bounded.begin();
      bounded.begin(5_000);
      bounded.begin(60_000);
      expect(deadlines.timesMs).toEqual([30_000, 5_000, 30_000]);
    });

    test('the time of a deadline passes by itself', async () => {
      const { signal } = free.begin(1);
      if (!signal.aborted) await once(signal, 'abort');
      expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
    });

    test('a server that sends nothing, or one byte at a time, fails at the deadline', async () => {
      const message = `127.0.0.1:${victim.port} did not answer in time`;
      victim.handler = deadlines.pass;
      expect((await failure(bounded.begin().fetch(victim.url))).message).toBe(message);
      const bytesPassed = Promise.withResolvers<void>();
      victim.handler = (_, response) => {
        let sent = 0;
        const drip = () => {
          if (response.destroyed) return;
          if ((sent += 1) === 20) bytesPassed.resolve();
          response.write('a', () => setImmediate(drip));
        };
        drip();
      };
      const response = await bounded.begin().fetch(victim.url);
      const failed = failure(response.text());
      await bytesPassed.promise;
      deadlines.pass();
      expect((await failed).message).toBe(message);
    });

    test('all requests of one unit of work share one deadline', async () => {
      let requests = 0;
      victim.handler = (_, response) => {
        requests += 1;
        response.end('ok');
      };
      const work = bounded.begin();
      for (let time = 0; time < 3; time += 1) expect(await (await work.fetch(victim.url)).text()).toBe('ok');
      deadlines.pass();
      expect((await failure(work.fetch(victim.url))).message).toMatch(/did not answer in time$/);
      expect([requests, deadlines.timesMs]).toEqual([3, [30_000]]);
    });
  });

  test('a refused connection, a reset and an answer that is not HTTP have clear messages', async () => {
    const gone = await new Listener().start();
    const { url, port } = gone;
    await gone.stop();
    expect((await failure(free.begin().fetch(url))).message).toBe(`127.0.0.1:${port} cannot be reached (ECONNREFUSED)`);
    victim.handler = (request) => request.socket.destroy();
    expect((await failure(free.begin().fetch(victim.url))).message).toMatch(
      /closed the connection before the end of its answer \((?:UND_ERR_SOCKET|ECONNRESET)\)$/,
    );
    victim.handler = (request) => void request.socket.end('SSH-2.0-OpenSSH\r\n');
    expect((await failure(free.begin().fetch(victim.url))).message).toBe(
      `the answer of 127.0.0.1:${victim.port} is not HTTP`,
    );
  });

  test('the answer is an instance of the global Response, which libraries check', async () => {
    victim.handler = (_, response) =>
      response.writeHead(400, { 'Content-Type': 'application/json' }).end('{"error":"invalid_grant"}');
    const response = await free.begin().fetch(victim.url);
    expect(response).toBeInstanceOf(Response);
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 400,
      body: { error: 'invalid_grant' },
    });
  });

  test.each([204, 205, 304])('an answer without a body has its status and headers (%d)', async (status) => {
    victim.handler = (_, answer) => answer.writeHead(status, 'Empty', { 'X-Other': 'yes' }).end();
    const { body, statusText, headers, ...rest } = await free.begin().fetch(victim.url);
    expect([rest, body, statusText, headers.get('x-other')]).toEqual([{}, null, 'Empty', 'yes']);
  });

  test('an answer to HEAD may announce any length', async () => {
    victim.handler = (_, answer) => answer.writeHead(200, { 'Content-Length': 2 ** 30 }).end();
    const response = await free.begin().fetch(victim.url, { method: 'HEAD' });
    expect([response.status, response.body]).toEqual([200, null]);
  });

  test('each request is observed with its method and host, also if it is refused', async () => {
    const seen: object[] = [];
    const observed = createOutbound({
      allowPrivateNetwork: true,
      observe: (request, run) => {
        seen.push(request);
        return run({});
      },
    });
    victim.handler = (_, response) => response.end('ok');
    const work = observed.begin();
    expect(work.signal.aborted).toBe(false);
    await (await work.fetch(victim.url)).text();
    await (await work.fetch(victim.url, { method: 'PUT' })).text();
    await failure(work.fetch('http://'));
    const host = `127.0.0.1:${victim.port}`;
    expect(seen).toEqual([
      { method: 'GET', host },
      { method: 'PUT', host },
      { method: 'GET', host: '' },
    ]);
    await observed.close();
  });

  test('after the end no request is sent, and no connection stays open', async () => {
    const ending = createOutbound({ allowPrivateNetwork: true });
    const closed = Promise.withResolvers<void>();
    victim.handler = ({ socket }, response) => {
      socket.on('close', closed.resolve);
      response.end('ok');
    };
    await (await ending.begin().fetch(victim.url)).text();
    await ending.close();
    await closed.promise;
    expect((await failure(ending.begin().fetch(victim.url))).message).toBe(
      `127.0.0.1:${victim.port} cannot be reached (UND_ERR_DESTROYED)`,
    );
  });
});
