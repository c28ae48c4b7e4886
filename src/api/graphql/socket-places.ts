import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Config } from '../../platform/config.ts';
import { RateLimitHitError, RequestTimeoutError } from '../../platform/errors.ts';
import { observeCount } from '../../platform/metrics.ts';
import { addressOf, networkOf } from '../../platform/rate-limits.ts';
import { Tally } from '../../platform/tally.ts';

/** Our choice: how soon whoever found no place may try again. Sockets that nobody uses are gone by then. */
const RETRY_AFTER_SECONDS = 10;
/** Our choice: one address leaves half of the process to all others, as an office does, and a proxy nobody trusts. */
const SHARE_OF_NETWORK = 0.5;

type Limits = Pick<Config, 'socketsPerIp' | 'socketsPerUser' | 'maxSockets' | 'trustedProxies'>;

let open = 0;
observeCount('websockets_open', 'Sockets this process has open.', () => open);

/** A socket's place. */
interface SocketPlace {
  readonly network: string;
  /** Undefined until somebody has signed in on it. */
  userId: number | undefined;
}

/**
 * How many sockets this process has open, and for whom. A socket is its address's until somebody signs in on it, and that
 * account's from then on. What is over a limit is refused; what is open stays.
 */
export class SocketPlaces {
  readonly #limits: Limits;
  readonly #places = new Map<IncomingMessage, SocketPlace>();
  readonly #byNetwork = new Tally<string>();
  /** Of those, with nobody signed in. */
  readonly #strangers = new Tally<string>();
  readonly #byUser = new Tally<number>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** How many are open. */
  get count(): number {
    return this.#places.size;
  }

  /**
   * Takes a place for a connection that is to become a socket, until the connection is closed.
   *
   * @throws RateLimitHitError when its address has too many already, RequestTimeoutError when this process has.
   */
  take(request: IncomingMessage, connection: Duplex): void {
    const { maxSockets, socketsPerIp = Number.POSITIVE_INFINITY, trustedProxies } = this.#limits;
    const network = networkOf(addressOf(request, trustedProxies));
    if (this.#places.size >= maxSockets) throw new RequestTimeoutError('Too many sockets are open; please try again');
    if (this.#strangers.of(network) >= socketsPerIp) {
      throw tooMany(`${socketsPerIp} sockets of this address are open without a sign-in`);
    }
    if (this.#byNetwork.of(network) >= Math.ceil(maxSockets * SHARE_OF_NETWORK)) {
      throw tooMany('Too many sockets of this address are open');
    }
    this.#places.set(request, { network, userId: undefined });
    this.#byNetwork.add(network);
    this.#strangers.add(network);
    open++;
    connection.once('close', () => this.#leave(request));
  }

  /**
   * Makes a socket its user's.
   *
   * @throws RateLimitHitError when they have too many already.
   */
  signIn(request: IncomingMessage, userId: number): void {
    const { socketsPerUser = Number.POSITIVE_INFINITY } = this.#limits;
    const place = this.#places.get(request);
    // Closed while its credentials were looked up.
    if (place === undefined || place.userId !== undefined) return;
    if (this.#byUser.of(userId) >= socketsPerUser) {
      throw tooMany(`${socketsPerUser} sockets of this account are open`);
    }
    place.userId = userId;
    this.#byUser.add(userId);
    this.#strangers.remove(place.network);
  }

  #leave(request: IncomingMessage): void {
    const place = this.#places.get(request);
    if (place === undefined) return;
    this.#places.delete(request);
    open--;
    this.#byNetwork.remove(place.network);
    if (place.userId === undefined) this.#strangers.remove(place.network);
    else this.#byUser.remove(place.userId);
  }
}

const tooMany = (what: string) =>
  new RateLimitHitError(RETRY_AFTER_SECONDS, undefined, `${what}; try again in ${RETRY_AFTER_SECONDS} seconds`);
