import { addressOf, networkOf, type Origin } from './rate-limits.ts';

/** The client of a request, identified by its network address. */
export class Caller {
  readonly #origin: Origin;
  readonly #trustedProxies: number;

  constructor(origin: Origin, trustedProxies: number) {
    this.#origin = origin;
    this.#trustedProxies = trustedProxies;
  }

  /** IP address of the client: the address of the connection, or the address that the operator's proxies report. */
  get address(): string {
    return addressOf(this.#origin, this.#trustedProxies);
  }

  /** The client's network, which counts as one address: the /64 of an IPv6 address, or the IPv4 address itself. */
  get network(): string {
    return networkOf(this.address);
  }

  /** Whether the client's connection is closed, so that the response cannot be sent. */
  get isGone(): boolean {
    return this.#origin.socket.destroyed;
  }
}
