import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The addresses of clients, so that clients without an API key can be limited and traced. */

/** A network: its first address, and the length of its prefix. */
export type Network = ReturnType<typeof ipaddr.parseCIDR>;
type Address = Network[0];

/** Parses an address or a CIDR block such as `10.0.0.0/8`; undefined for anything else. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', prefix, ...rest] = text.split('/');
  const parsed = parseAddress(address);
  if (!parsed || rest.length > 0) return undefined;
  const length = parsed.toByteArray().length * 8;
  if (prefix === undefined) return [parsed, length];
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= length ? [parsed, Number(prefix)] : undefined;
}

/**
 * The address of the client: the peer of the connection or, if that is a trusted proxy, the last hop in
 * `X-Forwarded-For` that is not a trusted proxy. Each proxy appends the address of its peer, so anybody could have
 * written the hops before that. If a hop is not an address, the proxy that forwarded it counts as the client.
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

/** The unit that is counted: an IPv4 address, or the /64 network of an IPv6 address, which belongs to one client. */
export const clientNetworkOf = (address: string): string =>
  parseAddress(address)?.toByteArray().slice(0, 8).join('.') ?? address;

/** Converts IPv4-mapped IPv6 addresses to IPv4, and removes the zone, which is only meaningful on this machine. */
function parseAddress(text: string): Address | undefined {
  const [address = ''] = text.split('%');
  return isIP(address) === 0 ? undefined : ipaddr.process(address);
}

/** Some proxies append the port, too. */
const withoutPort = (hop: string): string =>
  /^\[([^\]]*)\](?::\d{1,5})?$/.exec(hop)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(hop)?.[1] ?? hop;

const isWithin = (address: Address, [network, prefix]: Network): boolean =>
  address.kind() === network.kind() && address.match(network, prefix);
