import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Where a request comes from, so that clients without an API key can be limited and traced. */

/** A network that addresses can belong to: its first address, and the length of its prefix. */
export type Network = ReturnType<typeof ipaddr.parseCIDR>;
type Address = Network[0];

/** The network that an address, or a CIDR such as `10.0.0.0/8`, names; undefined for anything else. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', prefix, ...rest] = text.split('/');
  const parsed = parseAddress(address);
  if (!parsed || rest.length > 0) return undefined;
  const length = parsed.toByteArray().length * 8;
  if (prefix === undefined) return [parsed, length];
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= length ? [parsed, Number(prefix)] : undefined;
}

/**
 * The address of the client: the peer of the connection, or, where that is a trusted proxy, the last hop in `X-Forwarded-For` that is not one.
 * Each proxy appends the address that it was connected from, so what stands before that hop was made up by anybody. A hop that is no address
 * ends the way: the proxy that passed it on counts as the client.
 */
export function clientAddressOf(peer: string, forwardedFor: string | null, trusted: readonly Network[]): string {
  const known = parseAddress(peer);
  if (!known) return peer;
  let client = known;
  for (const hop of (forwardedFor ?? '').split(',').toReversed()) {
    if (!trusted.some((network) => isWithin(client, network))) break;
    const next = parseAddress(withoutPort(hop.trim()));
    if (!next) break;
    client = next;
  }
  return client.toString();
}

/** What is counted together: an IPv4 address, or the /64 network of an IPv6 address, which one client has to itself. */
export function clientNetworkOf(address: string): string {
  const parsed = parseAddress(address);
  if (!parsed || parsed.kind() === 'ipv4') return address;
  return parsed.toByteArray().slice(0, 8).join('.');
}

/** An IPv4 address that is written as IPv6 is one of IPv4. A zone concerns this machine alone. */
function parseAddress(text: string): Address | undefined {
  const [address = ''] = text.split('%');
  return isIP(address) === 0 ? undefined : ipaddr.process(address);
}

/** Some proxies append the port, too. */
function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d{1,5})?$/.exec(hop)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(hop)?.[1] ?? hop;
}

function isWithin(address: Address, [network, prefix]: Network): boolean {
  return address.kind() === network.kind() && address.match(network, prefix);
}
