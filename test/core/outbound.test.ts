import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Outbound, OutboundError, createOutbound, isPublicAddress } from '../../src/core/outbound.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A listener on loopback that counts who comes. */
class Listener {
  contacts = 0;
  handler: Handler = (_, response) => response.end('hello');
  readonly server: Server = createServer((request, response) => this.handler(request, response)).on(
    'connection',
    () => (this.contacts += 1),
  );

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

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

async function failure(run: Promise<unknown>): Promise<OutboundError> {
  const error = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof OutboundError)) throw new Error(`expected an OutboundError, got ${String(error)}`);
  return error;
}

/** Hosts as they are written in URLs; the port of the victim is added. */
const HOSTILE_HOSTS = [
  // loopback in all its spellings
  '127.0.0.1',
  '127.0.0.1.',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '2130706433',
  '0x7f000001',
  '0x7f.0x0.0x0.0x1',
  '0x7f.1',
  '017700000001',
  '0177.0.0.1',
  '0177.0.0.01',
  '127.0.0.0x1',
  '%31%32%37.0.0.1',
  '１２７.０.０.１',
  '127。0。0。1',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000::0001]',
  // this host
  '0.0.0.0',
  '0',
  '0.1.2.3',
  '[::]',
  // names of loopback
  'localhost',
  'LOCALHOST',
  'localhost.',
  'localhost..',
  'app.localhost',
  'app.localhost.',
  'ⓛocalhost',
  // private, shared, link-local, metadata services
  '10.0.0.1',
  '10.255.255.255',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '100.64.0.1',
  '169.254.169.254',
  '2852039166',
  '0xa9fea9fe',
  '[fe80::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fec0::1]',
  // multicast, broadcast, reserved, documentation, benchmarking
  '224.0.0.1',
  '239.255.255.250',
  '255.255.255.255',
  '240.0.0.1',
  '192.0.0.1',
  '192.0.2.1',
  '198.51.100.1',
  '203.0.113.1',
  '198.18.0.1',
  '192.88.99.1',
  '[ff02::1]',
  '[2001:db8::1]',
  '[3fff::1]',
  '[100::1]',
  '[5f00::1]',
  // IPv4 within IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::ffff:8.8.8.8]',
  '[::127.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[2001:10::1]',
  '[2001:20::1]',
  '[4000::1]',
];

describe('addresses that are not public are refused and never contacted', () => {
  test('the table holds at least 60 hosts, all different', () => {
    expect(new Set(HOSTILE_HOSTS).size).toBe(HOSTILE_HOSTS.length);
    expect(HOSTILE_HOSTS.length).toBeGreaterThanOrEqual(60);
  });

  test.each(HOSTILE_HOSTS)('as the host of a URL: %s', async (host) => {
    const asked: string[] = [];
    const outbound = createOutbound({
      allowPrivateNetwork: false,
      resolve: async (name) => (asked.push(name), ['127.0.0.1']),
    });
    const before = victim.contacts;
    for (const scheme of ['http', 'https']) {
      const url = `${scheme}://${host}:${victim.port}/`;
      expect((await failure(outbound.begin().fetch(url))).message).toMatch(/is not a public address$/);
      expect((await failure(outbound.check(url))).isPassing).toBe(false);
    }
    expect({ contacts: victim.contacts - before, asked }).toEqual({ contacts: 0, asked: [] });
    await outbound.close();
  });

  const hostileAnswers = HOSTILE_HOSTS.flatMap((host) => {
    const { hostname } = new URL(`http://${host}`);
    const address = hostname.replace(/^\[(.*)\]$/, '$1');
    return /^[\d.]+$|:/.test(address) ? [address] : [];
  });

  test.each([...new Set(hostileAnswers)])('as an answer of DNS, alone and among public ones: %s', async (address) => {
    expect(isPublicAddress(address)).toBe(false);
    for (const answer of [[address], ['93.184.216.34', address], [address, '2606:2800:220:1::1']]) {
      const outbound = createOutbound({ allowPrivateNetwork: false, resolve: async () => answer });
      const before = victim.contacts;
      expect((await failure(outbound.begin().fetch(`http://innocent.example:${victim.port}/`))).message).toBe(
        'innocent.example is not a public address',
      );
      expect((await failure(outbound.check('https://innocent.example/'))).message).toBe(
        'innocent.example is not a public address',
      );
      expect(victim.contacts - before).toBe(0);
      await outbound.close();
    }
  });

  test('a DNS answer that changes after the check: the address that is dialled is the one that was checked for this very connection', async () => {
    const answers = [['93.184.216.34'], ['127.0.0.1']];
    const outbound = createOutbound({ allowPrivateNetwork: false, resolve: async () => answers.shift() ?? [] });
    const before = victim.contacts;
    const url = `http://rebinding.example:${victim.port}/`;
    await outbound.check(url);
    expect((await failure(outbound.begin().fetch(url))).message).toBe('rebinding.example is not a public address');
    expect(victim.contacts - before).toBe(0);
    await outbound.close();
  });

  test('public addresses pass the check', async () => {
    const outbound = createOutbound({
      allowPrivateNetwork: false,
      resolve: async () => ['93.184.216.34', '2606:2800:220:1::1'],
    });
    for (const url of [
      'https://example.com/',
      'http://8.8.8.8/',
      'https://[2606:4700::1111]/',
      'https://1.1.1.1:8443/mcp',
    ])
      expect((await outbound.check(url)).href).toBe(url);
    await outbound.close();
  });
});

describe('schemes, user information and ports', () => {
  test.each([
    'file:///etc/passwd',
    'ftp://example.com/',
    'gopher://127.0.0.1:70/',
    'javascript:alert(1)',
    'data:text/plain,x',
    'unix:/run/x.sock',
    'ws://example.com/',
    'about:blank',
  ])('only http and https: %s', async (url) => {
    expect((await failure(free.begin().fetch(url))).message).toBe('only http and https addresses are requested');
    expect((await failure(free.check(url))).isPassing).toBe(false);
  });

  test('no user information', async () => {
    expect((await failure(free.begin().fetch(`http://user:pass@127.0.0.1:${victim.port}/`))).message).toBe(
      `the address of 127.0.0.1:${victim.port} must not contain user information`,
    );
  });

  test('ports of other protocols are not dialled (Fetch Standard, "bad port")', async () => {
    expect((await failure(free.begin().fetch('http://127.0.0.1:25/'))).message).toBe(
      'the port of 127.0.0.1:25 belongs to another protocol, and is never requested (Fetch Standard, section 2.9)',
    );
  });

  test('text that is no URL', async () => {
    expect((await failure(free.begin().fetch('http://'))).message).toBe('an address that is no URL was given');
  });
});

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
    'a %d to the inside is refused, and the inside not contacted',
    async (status) => {
      // The way out is open for the first hop alone: what is stubbed here is the answer of DNS, and the victim is named by its address.
      victim.handler = (_, response) => response.end('inside');
      other.handler = (_, response) => response.writeHead(status, { Location: 'file:///etc/passwd' }).end();
      expect((await failure(free.begin().fetch(other.url))).message).toBe(
        'only http and https addresses are requested',
      );
      other.handler = (_, response) =>
        response.writeHead(status, { Location: `http://user@127.0.0.1:${victim.port}/` }).end();
      const before = victim.contacts;
      expect((await failure(free.begin().fetch(other.url))).message).toMatch(/user information$/);
      expect(victim.contacts - before).toBe(0);
    },
  );

  test('to another origin carry neither Authorization nor any header of ours', async () => {
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
    // Within the origin they are kept.
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

  test.each([301, 302, 303, 307, 308])('a POST with a body is not sent to another origin (%d)', async (status) => {
    other.handler = (_, response) => response.writeHead(status, { Location: victim.url }).end();
    const before = victim.contacts;
    const error = await failure(free.begin().fetch(other.url, { method: 'POST', body: 'client_secret=s' }));
    expect(error.message).toBe(
      `127.0.0.1:${other.port} redirects a POST request to 127.0.0.1:${victim.port}, which is not followed; use that address if it is the intended one`,
    );
    expect(victim.contacts - before).toBe(0);
  });
});

describe('bounds', () => {
  const bounded = createOutbound({ allowPrivateNetwork: true, totalTimeoutMs: 400 });
  afterAll(() => bounded.close());

  test('of one piece of work together no more than four times the bound, however they are cut', async () => {
    victim.handler = (_, response) => void response.end('x'.repeat(900_000));
    const work = free.begin();
    const read = async (one = work) => (await one.fetch(`http://127.0.0.1:${victim.port}/`)).text();
    for (let time = 0; time < 4; time += 1) expect(await read()).toHaveLength(900_000);
    expect((await failure(read())).message).toBe(`127.0.0.1:${victim.port} answers with more than 1048576 bytes`);
    expect(await read(free.begin())).toHaveLength(900_000);
  });

  test('a body over 1 MiB is cut off, announced or not', async () => {
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

  test('a small body that decompresses to more than 1 MiB is cut off', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    victim.handler = (_, response) =>
      response.writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Length': bomb.length }).end(bomb);
    expect((await failure((await free.begin().fetch(victim.url)).text())).message).toMatch(
      /answers with more than 1048576 bytes$/,
    );
  });

  test('silence, and one byte at a time, end at the deadline', async () => {
    victim.handler = () => undefined;
    expect((await failure(bounded.begin().fetch(victim.url))).message).toBe(
      `127.0.0.1:${victim.port} did not answer in time`,
    );
    victim.handler = (_, response) => {
      response.write('a');
      const dripping = setInterval(() => response.write('a'), 20);
      response.on('close', () => clearInterval(dripping));
    };
    // Time enough for its beginning.
    const response = await free.begin(3_000).fetch(victim.url);
    expect((await failure(response.text())).message).toBe(`127.0.0.1:${victim.port} did not answer in time`);
  });

  test('the deadline is that of all requests of one piece of work together', async () => {
    victim.handler = (_, response) => void setTimeout(() => response.end('ok'), 150);
    const work = bounded.begin();
    const requests = async () => {
      for (;;) await (await work.fetch(victim.url)).text();
    };
    expect((await failure(requests())).message).toMatch(/did not answer in time$/);
  });

  test('a refused connection, a reset and an answer that is no HTTP say so', async () => {
    const gone = await new Listener().start();
    const { url, port } = gone;
    await gone.stop();
    expect((await failure(free.begin().fetch(url))).message).toBe(`127.0.0.1:${port} cannot be reached (ECONNREFUSED)`);
    victim.handler = (request) => request.socket.destroy();
    expect((await failure(free.begin().fetch(victim.url))).message).toMatch(
      /cannot be reached \((?:UND_ERR_SOCKET|ECONNRESET)\)$/,
    );
    victim.handler = (request) => void request.socket.end('SSH-2.0-OpenSSH\r\n');
    expect((await failure(free.begin().fetch(victim.url))).message).toBe(
      `the exchange with 127.0.0.1:${victim.port} failed`,
    );
  });

  test('the answer is of the class that libraries test for', async () => {
    victim.handler = (_, response) =>
      response.writeHead(400, { 'Content-Type': 'application/json' }).end('{"error":"invalid_grant"}');
    const response = await free.begin().fetch(victim.url);
    expect(response).toBeInstanceOf(Response);
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 400,
      body: { error: 'invalid_grant' },
    });
    victim.handler = (_, answer) => answer.writeHead(204).end();
    expect((await free.begin().fetch(victim.url)).body).toBeNull();
  });
});
