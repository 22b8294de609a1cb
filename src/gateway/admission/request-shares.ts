import { LRUCache } from 'lru-cache';
import type { Actor } from '../../core/access.ts';
import type { Config } from '../../core/config.ts';
import { AnswerShare } from '../../core/answer-memory.ts';
import type { Owner, Slot } from '../../core/fair-shares.ts';
import { clientNetworkOf } from '../../core/http/client-address.ts';
import type { HttpRequest } from '../../core/http/messages.ts';
import type { Pools } from '../../core/pools.ts';
import { RequestSlot } from '../../core/request-slot.ts';
import { type Exchange, addressOfClient } from '../exchange.ts';

type SharesConfig = Pick<Config, 'REQUESTS_AT_ONCE_OF_PERSON' | 'REQUESTS_AT_ONCE_OF_ADDRESS' | 'TRUSTED_PROXIES'>;

/** Gives requests their slots. Each waits with those of its person, or of its client address if it has no key. */
export class RequestShares {
  readonly #pools: Pick<Pools, 'requests' | 'answers'>;
  readonly #config: SharesConfig;
  /** The networks of recent clients, because most requests are of few of them. */
  readonly #networks = new LRUCache<string, string>({ max: 1_000 });

  constructor(pools: Pick<Pools, 'requests' | 'answers'>, config: SharesConfig) {
    this.#pools = pools;
    this.#config = config;
  }

  /** A slot for the authentication of a request; undefined for calls within the process. @throws TooManyAtOnceError */
  takeUnknown(request: HttpRequest): Slot | Promise<Slot> | undefined {
    const network = this.#networkOf(request);
    if (network === undefined) return undefined;
    const { headers } = request;
    const credential = headers.get('authorization') ?? headers.get('private-app') ?? headers.get('cookie');
    if (credential === null) return this.#pools.requests.take(this.#ofAddress(network), request);
    // Whose it is, is not known yet.
    const max = this.#config.REQUESTS_AT_ONCE_OF_PERSON;
    return this.#pools.requests.take({ kind: 'credential', person: credential, max, organization: network }, request);
  }

  /** Takes the slot of a request whose caller is known. @returns a promise if it has to wait. @throws TooManyAtOnceError */
  admit(exchange: Exchange, { userId, organization }: Actor): Promise<void> | undefined {
    const max = this.#config.REQUESTS_AT_ONCE_OF_PERSON;
    return this.#enter(exchange, { kind: 'person', person: userId, max, organization: organization?.id ?? userId });
  }

  /** The same for a request that needs no key. */
  async admitAddress(exchange: Exchange): Promise<void> {
    const network = this.#networkOf(exchange.request);
    if (network !== undefined) await this.#enter(exchange, this.#ofAddress(network));
  }

  #enter(exchange: Exchange, owner: Owner): Promise<void> | undefined {
    const { request } = exchange;
    const { requests, answers } = this.#pools;
    const enter = (slot: Slot) =>
      void (exchange.slot = request.slot = new RequestSlot(requests, slot, new AnswerShare(answers, owner, request)));
    const slot = requests.take(owner, request);
    return slot instanceof Promise ? slot.then(enter) : enter(slot);
  }

  #ofAddress(network: string): Owner {
    return { kind: 'address', person: network, max: this.#config.REQUESTS_AT_ONCE_OF_ADDRESS, organization: network };
  }

  #networkOf(request: HttpRequest): string | undefined {
    const { peerAddress, headers } = request;
    if (peerAddress === undefined) return undefined;
    const forwardedFor = this.#config.TRUSTED_PROXIES.length > 0 ? headers.get('x-forwarded-for') : null;
    const hops = forwardedFor === null ? peerAddress : `${peerAddress} ${forwardedFor}`;
    let network = this.#networks.get(hops);
    if (network === undefined) {
      network = clientNetworkOf(addressOfClient(request, this.#config) ?? '');
      this.#networks.set(hops, network);
    }
    return network;
  }
}
