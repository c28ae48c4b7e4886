import type { Socket } from 'node:net';
import type { Config } from './config.ts';
import { RateLimitHitError } from './errors.ts';
import { KeyCounter } from './key-counter.ts';
import { observeCount } from './metrics.ts';
import { networkOf } from './rate-limits.ts';

/** Seconds after which a refused client may retry. After this time, open connections that sent no request have timed out. */
const RETRY_AFTER_SECONDS = 10;
/** Milliseconds until a refused connection is closed. Meanwhile its client can send a request and read the error response. */
const FAREWELL_MS = 2_000;
/**
 * Maximum number of refused connections of one IP address that can receive a response at a time. Further connections are closed
 * without a response. A client that reads its response disconnects soon, so normal clients stay below this number.
 */
const MAX_REFUSED = 100;
/**
 * Maximum fraction of `maxConnections` that one network can use, so that other networks can still connect. Further connections
 * of the network are refused. The same fraction applies to the maximum number of WebSockets.
 */
const SHARE_OF_NETWORK = 0.5;

type Limits = Pick<Config, 'connectionsPerIp' | 'maxConnections' | 'trustedProxies'>;

let open = 0;
observeCount('connections_open', 'Number of open connections of this process, including WebSockets.', () => open);

/** A client connection that was accepted, with the network of its client. */
interface ConnectionPlace {
  readonly network: string;
  isSignedIn: boolean;
}

/** A client connection that was refused. It stays open for a while, so that its requests receive an error. */
interface Refused {
  readonly network: string;
  /** Error that is sent in response to each request on the connection. */
  readonly error: RateLimitHitError;
  /** Whether the refused connection is accepted as soon as a user signs in on it. */
  readonly isStranger: boolean;
  readonly late: NodeJS.Timeout;
}

/**
 * The open connections of this process, with limits for each network. A connection counts towards `connectionsPerIp` until a
 * request on it is authenticated. After that, its requests count towards the limits of the account.
 *
 * A new connection over a limit is refused, and open connections stay open. A connection that exceeds only `connectionsPerIp`
 * is accepted when a user signs in on it. So unauthenticated clients cannot lock out users with valid credentials.
 *
 * Behind the operator's proxies all connections come from the proxies, so only the total number of connections is limited.
 */
export class Connections {
  readonly #limits: Limits;
  readonly #places = new Map<Socket, ConnectionPlace>();
  readonly #byNetwork = new KeyCounter<string>();
  /** Number of accepted connections without an authenticated request, by network. */
  readonly #strangers = new KeyCounter<string>();
  /** Connections whose requests are refused. They are closed after `FAREWELL_MS`. */
  readonly #refused = new Map<Socket, Refused>();
  readonly #refusedOf = new KeyCounter<string>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /**
   * Counts a new connection until it is closed. If `maxConnections` is reached, closes the connection instead. If a limit of
   * the network of the client is reached, refuses the connection.
   */
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
   * Marks a connection as authenticated, so that it does not count towards `connectionsPerIp`. A connection that was refused
   * only because of that limit is now accepted.
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

  /** Returns whether a network has reached `SHARE_OF_NETWORK`, the maximum fraction of connections of one network. */
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
    // Sending a refusal keeps the connection open. If `MAX_REFUSED` refused connections of the network are open already, the
    // new connection is closed without a response.
    if (this.#refusedOf.of(network) >= MAX_REFUSED) {
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
