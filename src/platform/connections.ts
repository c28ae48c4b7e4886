import type { Socket } from 'node:net';
import type { Config } from './config.ts';
import { RateLimitHitError } from './errors.ts';
import { KeyCounter } from './key-counter.ts';
import { observeCount } from './metrics.ts';
import { networkOf } from './rate-limits.ts';

/** Seconds after which a refused client may retry. Until then, open connections that sent no request have timed out. */
const RETRY_AFTER_SECONDS = 10;
/** Milliseconds until a refused connection is closed. Meanwhile its client can send a request and read the error response. */
const FAREWELL_MS = 2_000;
/**
 * Maximum number of refused connections of one IP address that can receive a response at a time. A client that reads its
 * response disconnects soon, so normal clients stay below this.
 */
const MAX_TOLD = 100;
/**
 * Largest share of all connections that one network can use. It equals the share of sockets that one network can use. The rest
 * stays available to other networks.
 */
const SHARE_OF_NETWORK = 0.5;

type Limits = Pick<Config, 'connectionsPerIp' | 'maxConnections' | 'trustedProxies'>;

let open = 0;
observeCount('connections_open', 'Number of open connections of this process, including WebSockets.', () => open);

/** A connection that was accepted. */
interface ConnectionPlace {
  readonly network: string;
  isSignedIn: boolean;
}

/** A connection that was refused. */
interface Refused {
  readonly network: string;
  /** Error that is sent in response to each request on the connection. */
  readonly error: RateLimitHitError;
  /** Whether the connection is accepted as soon as a user signs in on it. */
  readonly isStranger: boolean;
  readonly late: NodeJS.Timeout;
}

/**
 * The open connections of this process, with limits for each network. A connection counts towards `connectionsPerIp` until a
 * request on it is authenticated. After that, a long poll or other slow request belongs to an account, whose requests are
 * counted.
 *
 * A connection over a limit is refused; open connections stay. If only `connectionsPerIp` is exceeded, a connection is accepted
 * after all when a user signs in on it: unauthenticated clients cannot keep out users with valid credentials.
 *
 * Behind the operator's proxies all connections come from the proxies, so only the total is limited.
 */
export class Connections {
  readonly #limits: Limits;
  readonly #places = new Map<Socket, ConnectionPlace>();
  readonly #byNetwork = new KeyCounter<string>();
  /** Connections without an authenticated request, by network. */
  readonly #strangers = new KeyCounter<string>();
  /** Connections whose requests are refused. They are closed after `FAREWELL_MS`. */
  readonly #refused = new Map<Socket, Refused>();
  readonly #refusedOf = new KeyCounter<string>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Counts a new connection until it is closed, or refuses it. */
  take(socket: Socket): void {
    // If the total limit is reached, new connections are closed without a response.
    if (open >= this.#limits.maxConnections) {
      socket.destroy();
      return;
    }
    open++;
    socket.once('close', () => open--);
    if (this.#limits.trustedProxies > 0) return;
    const network = networkOf(socket.remoteAddress ?? '');
    const { connectionsPerIp = Number.POSITIVE_INFINITY } = this.#limits;
    if (this.#isHalf(network)) this.#refuse(socket, network, 'Too many connections are open from this address', false);
    else if (this.#strangers.of(network) < connectionsPerIp) this.#enter(socket, network, false);
    else {
      const reason = `${connectionsPerIp} unauthenticated connections are open from this address`;
      this.#refuse(socket, network, reason, true);
    }
  }

  /** Returns the error for requests on a refused connection. Undefined if the connection was accepted. */
  refusalOf(socket: Socket): RateLimitHitError | undefined {
    return this.#refused.get(socket)?.error;
  }

  /** Returns whether a refused connection is accepted once a user signs in on it. */
  waitsForSignIn(socket: Socket): boolean {
    return this.#refused.get(socket)?.isStranger === true;
  }

  /**
   * Marks a connection as authenticated: it no longer counts for `connectionsPerIp`. A connection that was refused only because
   * of that limit is then accepted.
   */
  signIn(socket: Socket): void {
    const refused = this.#refused.get(socket);
    if (refused?.isStranger === true && !this.#isHalf(refused.network)) {
      clearTimeout(refused.late);
      this.#forget(socket, refused);
      this.#enter(socket, refused.network, true);
    }
    const place = this.#places.get(socket);
    if (place === undefined || place.isSignedIn) return;
    place.isSignedIn = true;
    this.#strangers.remove(place.network);
  }

  /** Returns whether a network has reached `SHARE_OF_NETWORK`, the maximum share of connections of one network. */
  #isHalf(network: string): boolean {
    return this.#byNetwork.of(network) >= Math.ceil(this.#limits.maxConnections * SHARE_OF_NETWORK);
  }

  #enter(socket: Socket, network: string, isSignedIn: boolean): void {
    const place: ConnectionPlace = { network, isSignedIn };
    this.#places.set(socket, place);
    this.#byNetwork.add(network);
    if (!isSignedIn) this.#strangers.add(network);
    socket.once('close', () => {
      this.#places.delete(socket);
      this.#byNetwork.remove(network);
      if (!place.isSignedIn) this.#strangers.remove(network);
    });
  }

  #refuse(socket: Socket, network: string, reason: string, isStranger: boolean): void {
    // Sending a refusal keeps the connection open. If `MAX_TOLD` refused connections of the network are open already, this one
    // is closed without a response.
    if (this.#refusedOf.of(network) >= MAX_TOLD) {
      socket.destroy();
      return;
    }
    const message = `${reason}; try again in ${RETRY_AFTER_SECONDS} seconds`;
    const error = new RateLimitHitError(RETRY_AFTER_SECONDS, undefined, message);
    const late = setTimeout(() => socket.destroy(), FAREWELL_MS).unref();
    const refused: Refused = { network, error, isStranger, late };
    this.#refused.set(socket, refused);
    this.#refusedOf.add(network);
    socket.once('close', () => {
      clearTimeout(late);
      this.#forget(socket, refused);
    });
  }

  #forget(socket: Socket, { network }: Refused): void {
    if (this.#refused.delete(socket)) this.#refusedOf.remove(network);
  }
}
