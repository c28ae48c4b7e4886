import { addressOf, networkOf, type Origin } from './rate-limits.ts';

/** Whom an answer goes to, as far as the network knows. */
export class Caller {
  readonly #origin: Origin;
  readonly #trustedProxies: number;

  constructor(origin: Origin, trustedProxies: number) {
    this.#origin = origin;
    this.#trustedProxies = trustedProxies;
  }

  /** The address it comes from, as far as our own proxies tell. */
  get address(): string {
    return addressOf(this.#origin, this.#trustedProxies);
  }

  /** What counts as one address. */
  get network(): string {
    return networkOf(this.address);
  }

  /** Whether the connection is closed, so that nobody waits for the answer any more. */
  get isGone(): boolean {
    return this.#origin.socket.destroyed;
  }
}
