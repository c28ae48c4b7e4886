import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Config } from '../../platform/config.ts';
import { RateLimitHitError, RequestTimeoutError } from '../../platform/errors.ts';
import { KeyCounter } from '../../platform/key-counter.ts';
import { observeCount } from '../../platform/metrics.ts';
import { addressOf, networkOf } from '../../platform/rate-limits.ts';

/** Delay after which a refused client can try again. Unused sockets are closed by then. */
const RETRY_AFTER_SECONDS = 10;
/**
 * Share of the process that one address can use, such as an office or an untrusted proxy. The rest remains for the other
 * addresses.
 */
const SHARE_OF_NETWORK = 0.5;

type Limits = Pick<Config, 'socketsPerIp' | 'socketsPerUser' | 'maxSockets' | 'trustedProxies'>;

let open = 0;
observeCount('websockets_open', 'Number of open WebSockets of this process.', () => open);

/** The permit of a socket. */
interface SocketPlace {
  readonly network: string;
  /** Undefined until a user has authenticated on it. */
  userId: number | undefined;
}

/**
 * Counts the open sockets of this process and limits them. A socket counts on its address until a user authenticates on it,
 * and then on that account. Sockets over a limit are refused; open sockets are not closed.
 */
export class SocketPlaces {
  readonly #limits: Limits;
  readonly #places = new Map<IncomingMessage, SocketPlace>();
  readonly #byNetwork = new KeyCounter<string>();
  /** Sockets without an authenticated user. */
  readonly #strangers = new KeyCounter<string>();
  readonly #byUser = new KeyCounter<number>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Number of open sockets. */
  get count(): number {
    return this.#places.size;
  }

  /**
   * Acquires a permit for a connection that becomes a socket, and releases it when the connection closes.
   *
   * @throws RateLimitHitError if its address has too many sockets.
   * @throws RequestTimeoutError if this process has too many.
   */
  take(request: IncomingMessage, connection: Duplex): void {
    const { maxSockets, socketsPerIp = Number.POSITIVE_INFINITY, trustedProxies } = this.#limits;
    const network = networkOf(addressOf(request, trustedProxies));
    if (this.#places.size >= maxSockets)
      throw new RequestTimeoutError('Too many sockets are open; please try again later');
    if (this.#strangers.of(network) >= socketsPerIp) {
      throw tooMany(`${socketsPerIp} unauthenticated sockets are open from this address`);
    }
    if (this.#byNetwork.of(network) >= Math.ceil(maxSockets * SHARE_OF_NETWORK)) {
      throw tooMany('Too many sockets are open from this address');
    }
    this.#places.set(request, { network, userId: undefined });
    this.#byNetwork.add(network);
    this.#strangers.add(network);
    open++;
    connection.once('close', () => this.#leave(request));
  }

  /**
   * Counts a socket on its user's account.
   *
   * @throws RateLimitHitError if the account has too many sockets.
   */
  signIn(request: IncomingMessage, userId: number): void {
    const { socketsPerUser = Number.POSITIVE_INFINITY } = this.#limits;
    const place = this.#places.get(request);
    // The connection closed during authentication, or the socket is already counted on an account.
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
