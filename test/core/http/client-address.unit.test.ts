import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientAddressOf, clientNetworkOf, parseNetwork } from '../../../src/core/http/client-address.ts';

const trusted = ['10.0.0.0/8', '2001:db8:1::/48', '192.0.2.7'].map((text) => {
  const network = parseNetwork(text);
  if (!network) throw new Error(text);
  return network;
});

describe('the client is the last hop that is not a trusted proxy', () => {
  test.each([
    ['a peer that is not a trusted proxy, whose header is ignored', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['no header', '10.0.0.1', null, '10.0.0.1'],
    ['one proxy', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['two proxies', '10.0.0.1', '198.51.100.1, 10.2.3.4', '198.51.100.1'],
    ['hops that the client invented', '10.0.0.1', '127.0.0.1, 10.9.9.9, 198.51.100.1, 10.2.3.4', '198.51.100.1'],
    ['only proxies', '10.0.0.1', '10.0.0.2, 10.0.0.3', '10.0.0.2'],
    ['a hop that is not an address', '10.0.0.1', '198.51.100.1, unknown, 10.0.0.3', '10.0.0.3'],
    ['the last hop is not an address', '10.0.0.1', '198.51.100.1, <script>', '10.0.0.1'],
    ['an empty hop', '10.0.0.1', '198.51.100.1,', '10.0.0.1'],
    ['a number that some parsers accept as an address', '10.0.0.1', '2130706433', '10.0.0.1'],
    ['a hop with its port', '10.0.0.1', '198.51.100.123:1234', '198.51.100.123'],
    ['IPv6', '2001:db8:1::5', '2001:db8:2::1', '2001:db8:2::1'],
    ['IPv6 with its port', '10.0.0.1', '[2001:db8:2::1]:443', '2001:db8:2::1'],
    ['IPv6 in brackets without a port', '10.0.0.1', '[2001:db8:2::1]', '2001:db8:2::1'],
    ['text after the port', '10.0.0.1', '198.51.100.1:12x', '10.0.0.1'],
    ['text before the address with a port', '10.0.0.1', 'x198.51.100.1:12', '10.0.0.1'],
    ['text after the brackets', '10.0.0.1', '[2001:db8:2::1]x', '10.0.0.1'],
    ['text before the brackets', '10.0.0.1', 'x[2001:db8:2::1]', '10.0.0.1'],
    ['a peer without an address', 'socket', '198.51.100.1', 'socket'],
    ['IPv4 that is written as IPv6', '::ffff:10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
    ['one trusted address', '192.0.2.7', '198.51.100.1', '198.51.100.1'],
    ['the address next to it', '192.0.2.8', '198.51.100.1', '192.0.2.8'],
    ['a zone', 'fe80::1%eth0', null, 'fe80::1'],
  ])('%s', (_, peer, forwardedFor, client) => {
    expect(clientAddressOf(peer, forwardedFor, trusted)).toBe(client);
  });

  test('with any header, the client of an untrusted peer is the peer, and the client of a trusted proxy is a valid address', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (header) => {
        expect(clientAddressOf('203.0.113.9', header, trusted)).toBe('203.0.113.9');
        expect(clientAddressOf('10.0.0.1', header, trusted)).toMatch(/^[0-9a-f.:]+$/);
      }),
    );
  });
});

test('an IPv6 client is identified by its /64 network, and an IPv4 client by its address', () => {
  expect(clientNetworkOf('2001:db8:0:1::1')).toBe(clientNetworkOf('2001:db8:0:1:ffff:ffff:ffff:ffff'));
  expect(clientNetworkOf('2001:db8:0:1::1')).not.toBe(clientNetworkOf('2001:db8:0:2::1'));
  expect(clientNetworkOf('2001:db8:0:10b::1')).not.toBe(clientNetworkOf('2001:db8:0:b01::1'));
  expect(clientNetworkOf('198.51.100.1')).toBe('198.51.100.1');
  expect(clientNetworkOf('::ffff:198.51.100.1')).toBe('198.51.100.1');
  expect(clientNetworkOf('not an address')).toBe('not an address');
});

test.each([
  '10.0.0.0/33',
  '2001:db8::/129',
  '10.0.0.0/',
  '10.0.0.0/8x',
  '10.0.0.0/x8',
  '10.0.0.0/+8',
  '10.0.0.0/8e0',
  '10.0.0.0/8/8',
  '10.0.0/8',
  '',
])('a trusted proxy cannot be given as %j', (text) => {
  expect(parseNetwork(text)).toBeUndefined();
});

test.each([
  ['10.0.0.1', 32],
  ['10.0.0.1/32', 32],
  ['10.0.0.0/0', 0],
  ['2001:db8::1', 128],
  ['2001:db8::1/128', 128],
])('%s is a network with a prefix of %i bits', (text, bits) => {
  expect(parseNetwork(text)?.[1]).toBe(bits);
});
