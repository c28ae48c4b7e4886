import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Config } from '../../../platform/config.ts';
import { RateLimitHitError, RequestTimeoutError } from '../../../platform/errors.ts';
import { KeyCounter } from '../../../platform/key-counter.ts';
import { observeCount } from '../../../platform/metrics.ts';
import { addressOf, networkOf } from '../../../platform/rate-limits.ts';

/**
 * Time in seconds after which a refused client can try again. A socket on which no client authenticates is closed within this
 * time.
 */
const RETRY_AFTER_SECONDS = 10;
/**
 * Maximum fraction of `maxSockets` that the clients of one IP address can use. An address can belong to a whole office, or to a
 * proxy that is not trusted. The other sockets remain available for other addresses.
 */
const SHARE_OF_NETWORK = 0.5;

type Limits = Pick<Config, 'socketsPerIp' | 'socketsPerUser' | 'maxSockets' | 'trustedProxies'>;

let open = 0;
observeCount('websockets_open', 'Number of open WebSockets of this process.', () => open);

/** A counted socket: the network and the account towards whose limits it counts. */
interface SocketPlace {
  readonly network: string;
  /** The account towards whose limit the socket counts. Undefined until a user authenticates on the socket. */
  userId: number | undefined;
}

/**
 * Limits for the number of open sockets of this process, per IP address and per account. A socket counts towards `socketsPerIp`
 * until a user authenticates, and then towards `socketsPerUser`. One address can have at most half of `maxSockets`. Sockets
 * over a limit are refused.
 */
export class SocketLimits {
  readonly #limits: Limits;
  readonly #places = new Map<IncomingMessage, SocketPlace>();
  readonly #byNetwork = new KeyCounter<string>();
  /** Number of sockets without an authenticated user, by network. */
  readonly #unauthenticated = new KeyCounter<string>();
  readonly #byUser = new KeyCounter<number>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Number of open sockets. */
  get count(): number {
    return this.#places.size;
  }

  /**
   * Acquires a permit for a connection that is upgraded to a WebSocket. The permit is released when the connection closes.
   *
   * @throws RateLimitHitError if the IP address of the client has too many sockets.
   * @throws RequestTimeoutError if this process has too many sockets.
   */
  take(request: IncomingMessage, connection: Duplex): void {
    const { maxSockets, socketsPerIp = Number.POSITIVE_INFINITY, trustedProxies } = this.#limits;
    const network = networkOf(addressOf(request, trustedProxies));
    if (this.#places.size >= maxSockets)
      throw new RequestTimeoutError('Too many sockets are open; please try again later');
    if (this.#unauthenticated.of(network) >= socketsPerIp) {
      throw tooMany(`${socketsPerIp} unauthenticated sockets are open from this address`);
    }
    if (this.#byNetwork.of(network) >= Math.ceil(maxSockets * SHARE_OF_NETWORK)) {
      throw tooMany('Too many sockets are open from this address');
    }
    this.#places.set(request, { network, userId: undefined });
    this.#byNetwork.add(network);
    this.#unauthenticated.add(network);
    open++;
    connection.once('close', () => this.#leave(request));
  }

  /**
   * Counts a socket towards the limit of the account that authenticated on it. Does nothing if the socket already counts
   * towards an account.
   *
   * @throws RateLimitHitError if the account has too many sockets.
   */
  signIn(request: IncomingMessage, userId: number): void {
    const { socketsPerUser = Number.POSITIVE_INFINITY } = this.#limits;
    const place = this.#places.get(request);
    // The connection closed during authentication, or the socket already counts towards an account.
    if (place === undefined || place.userId !== undefined) return;
    if (this.#byUser.of(userId) >= socketsPerUser) {
      throw tooMany(`${socketsPerUser} sockets of this account are open`);
    }
    place.userId = userId;
    this.#byUser.add(userId);
    this.#unauthenticated.remove(place.network);
  }

  #leave(request: IncomingMessage): void {
    const place = this.#places.get(request);
    if (place === undefined) return;
    this.#places.delete(request);
    open--;
    this.#byNetwork.remove(place.network);
    if (place.userId === undefined) this.#unauthenticated.remove(place.network);
    else this.#byUser.remove(place.userId);
  }
}

const tooMany = (what: string) =>
  new RateLimitHitError(RETRY_AFTER_SECONDS, undefined, `${what}; try again in ${RETRY_AFTER_SECONDS} seconds`);
