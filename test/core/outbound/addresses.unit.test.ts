import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Outbound, createOutbound, isPublicAddress } from '../../../src/core/outbound/outbound.ts';
import { outboundFailure as failure } from '../../support/fixtures/outbound.ts';
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

/** Hosts of URLs. The tests add the port of the victim. */
const HOSTILE_HOSTS = [
  // notations of loopback addresses
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

const NO_PUBLIC_ADDRESS = 'the name innocent.example cannot be resolved, or has an address that is not public';

describe('addresses that are not public are refused and never contacted', () => {
  test('the list has at least 60 different hosts', () => {
    expect(new Set(HOSTILE_HOSTS).size).toBe(HOSTILE_HOSTS.length);
    expect(HOSTILE_HOSTS.length).toBeGreaterThanOrEqual(60);
  });

  test.each(HOSTILE_HOSTS)('as the host of a URL: %s', async (host) => {
    const asked: string[] = [];
    const outbound = createOutbound({
      allowPrivateNetwork: false,
      resolve: async (name) => (asked.push(name), ['127.0.0.1']),
    });
    const before = victim.connectionCount;
    for (const scheme of ['http', 'https']) {
      const url = `${scheme}://${host}:${victim.port}/`;
      expect((await failure(outbound.begin().fetch(url))).message).toMatch(
        /is not a public address; .*ALLOW_PRIVATE_NETWORK=true\)$/,
      );
      expect((await failure(outbound.check(url))).isTemporary).toBe(false);
    }
    expect({ contacts: victim.connectionCount - before, asked }).toEqual({ contacts: 0, asked: [] });
    await outbound.close();
  });

  const hostileAnswers = HOSTILE_HOSTS.flatMap((host) => {
    const { hostname } = new URL(`http://${host}`);
    const address = hostname.replace(/^\[(.*)\]$/, '$1');
    return /^[\d.]+$|:/.test(address) ? [address] : [];
  });

  test.each([...new Set(hostileAnswers)])(
    'as an answer of DNS, alone or among public addresses: %s',
    async (address) => {
      expect(isPublicAddress(address)).toBe(false);
      for (const answer of [[address], ['93.184.216.34', address], [address, '2606:2800:220:1::1']]) {
        const outbound = createOutbound({ allowPrivateNetwork: false, resolve: async () => answer });
        const before = victim.connectionCount;
        expect((await failure(outbound.begin().fetch(`http://innocent.example:${victim.port}/`))).message).toBe(
          NO_PUBLIC_ADDRESS,
        );
        expect((await failure(outbound.check('https://innocent.example/'))).message).toBe(NO_PUBLIC_ADDRESS);
        expect(victim.connectionCount - before).toBe(0);
        await outbound.close();
      }
    },
  );

  test('a name with a private address and a name that does not exist get the same message', async () => {
    const unknown = async () => Promise.reject(Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' }));
    const outcomes = await Promise.all(
      [unknown, async () => ['10.0.0.1'], async () => []].map(async (resolve) => {
        const outbound = createOutbound({ allowPrivateNetwork: false, resolve });
        const errors = [
          await failure(outbound.begin().fetch('https://innocent.example/')),
          await failure(outbound.check('https://innocent.example/')),
        ];
        await outbound.close();
        return errors.map((error) => [error.message, error.isTemporary]);
      }),
    );
    expect(outcomes).toEqual(
      outcomes.map(() => [
        [NO_PUBLIC_ADDRESS, true],
        [NO_PUBLIC_ADDRESS, true],
      ]),
    );
  });

  test('if the DNS answer changes after the check, the address is checked again for the connection', async () => {
    const answers = [['93.184.216.34'], ['127.0.0.1']];
    const outbound = createOutbound({ allowPrivateNetwork: false, resolve: async () => answers.shift() ?? [] });
    const before = victim.connectionCount;
    const url = `http://rebinding.example:${victim.port}/`;
    await outbound.check(url);
    expect((await failure(outbound.begin().fetch(url))).message).toBe(
      NO_PUBLIC_ADDRESS.replace('innocent', 'rebinding'),
    );
    expect(victim.connectionCount - before).toBe(0);
    await outbound.close();
  });

  test('public addresses are accepted', async () => {
    const asked: string[] = [];
    const outbound = createOutbound({
      allowPrivateNetwork: false,
      resolve: async (name) => (asked.push(name), ['93.184.216.34', '2606:2800:220:1::1']),
    });
    for (const url of [
      'https://example.com/',
      'http://8.8.8.8/',
      'https://[2606:4700::1111]/',
      'https://1.1.1.1:8443/mcp',
    ])
      expect((await outbound.check(url)).href).toBe(url);
    expect(asked).toEqual(['example.com']);
    await outbound.close();
  });

  test('an address in public space that a cloud uses for its platform services is not public', () => {
    expect(isPublicAddress('168.63.129.16')).toBe(false);
  });

  test('a text that is not an address is not public', () => {
    expect(isPublicAddress('example.com')).toBe(false);
  });
});

describe('if private networks are allowed', () => {
  const resolving = (resolve: (name: string) => Promise<string[]>) =>
    createOutbound({ allowPrivateNetwork: true, resolve });
  const messages = async (outbound: Outbound) => {
    const errors = [
      await failure(outbound.begin().fetch('http://name.example/')),
      await failure(outbound.check('http://name.example/')),
    ];
    await outbound.close();
    return errors.map(({ message }) => message);
  };

  test('the connection uses the addresses of the resolver, which is by default that of the system', async () => {
    const outbound = resolving(async () => ['127.0.0.1']);
    expect(await (await outbound.begin().fetch(`http://name.example:${victim.port}/`)).text()).toBe('hello');
    await outbound.close();
    expect(await (await free.begin().fetch(`http://localhost:${victim.port}/`)).text()).toBe('hello');
  });

  test('a name without addresses cannot be used', async () => {
    const message = 'name.example has no address';
    expect(await messages(resolving(async () => []))).toEqual([message, message]);
  });

  test.each([
    ['ENOTFOUND', 'name.example cannot be reached (ENOTFOUND)'],
    ['A'.repeat(60), `name.example cannot be reached (${'A'.repeat(60)})`],
    ['A'.repeat(61), 'the exchange with name.example failed'],
    ['text of a peer', 'the exchange with name.example failed'],
    ['text ENDS', 'the exchange with name.example failed'],
    ['BEGINS text', 'the exchange with name.example failed'],
    [57014, 'the exchange with name.example failed'],
    [undefined, 'the exchange with name.example failed'],
  ])('the failure of a name names a code and no other text: %s', async (code, message) => {
    const fails = async () => Promise.reject(Object.assign(new Error('text of a peer'), { code }));
    expect(await messages(resolving(fails))).toEqual([message, message]);
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
  ])('only http and https URLs are allowed: %s', async (url) => {
    expect((await failure(free.begin().fetch(url))).message).toBe('only http and https URLs are allowed');
    expect((await failure(free.check(url))).isTemporary).toBe(false);
  });

  test.each(['user:pass', 'user', ':pass'])('a URL with user information is refused: %s', async (user) => {
    expect(await failure(free.begin().fetch(`http://${user}@127.0.0.1:${victim.port}/`))).toMatchObject({
      name: 'OutboundError',
      message: `the URL of 127.0.0.1:${victim.port} must not contain user information`,
      isTemporary: false,
    });
  });

  test('ports of other protocols are never requested (Fetch Standard, "bad port")', async () => {
    expect(await failure(free.begin().fetch('http://127.0.0.1:25/'))).toMatchObject({
      message:
        'the port of 127.0.0.1:25 belongs to another protocol, and is never requested (Fetch Standard, section 2.9)',
      isTemporary: false,
    });
  });

  test('text that is not a URL is refused', async () => {
    expect(await failure(free.begin().fetch('http://'))).toMatchObject({
      message: 'not a valid URL',
      isTemporary: false,
    });
  });
});
