import { addressOf, networkOf, type Origin } from './rate-limits.ts';

/** The client of a request, as far as the network identifies it. */
export class Caller {
  readonly #origin: Origin;
  readonly #trustedProxies: number;

  constructor(origin: Origin, trustedProxies: number) {
    this.#origin = origin;
    this.#trustedProxies = trustedProxies;
  }

  /** The client's address, as far as the operator's proxies report it. */
  get address(): string {
    return addressOf(this.#origin, this.#trustedProxies);
  }

  /** The network that counts as one address. */
  get network(): string {
    return networkOf(this.address);
  }

  /** Whether the connection is closed, so that the response cannot be sent. */
  get isGone(): boolean {
    return this.#origin.socket.destroyed;
  }
}
