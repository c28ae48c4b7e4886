import type { Socket } from 'node:net';
import type { Config } from './config.ts';
import { RateLimitHitError } from './errors.ts';
import { observeCount } from './metrics.ts';
import { networkOf } from './rate-limits.ts';
import { Tally } from './tally.ts';

/** Our choice: how soon whoever found no place may try again. Requests that never arrive are given up by then. */
const RETRY_AFTER_SECONDS = 10;
/** Our choice: what a client needs to send its request and read that it is refused. */
const FAREWELL_MS = 2_000;
/** Our choice: of one address at a time. Whoever reads what they are told is gone in a moment. */
const MAX_TOLD = 100;
/** Our choice, as for sockets: one address leaves half of the process to all others. */
const SHARE_OF_NETWORK = 0.5;

type Limits = Pick<Config, 'connectionsPerIp' | 'maxConnections' | 'trustedProxies'>;

let open = 0;
observeCount('connections_open', 'Connections this process has open, sockets included.', () => open);

/** A connection's place. */
interface ConnectionPlace {
  readonly network: string;
  isSignedIn: boolean;
}

/** A connection that found none. */
interface Refused {
  readonly network: string;
  /** What requests on it are told. */
  readonly error: RateLimitHitError;
  /** Whether there is a place for it as soon as somebody signs in on it. */
  readonly isStranger: boolean;
  readonly late: NodeJS.Timeout;
}

/**
 * How many connections this process has open, for whom. A connection is its address's until a request on it is signed in,
 * and is not counted so from then on: a long poll, and whatever else takes its time, belongs to an account, whose
 * requests are counted. What is over a limit is refused; what is open stays. Strangers do not keep out who has a good key:
 * what is refused for their number is taken after all when somebody signs in on it.
 *
 * Behind proxies of ours all connections are theirs, and there is no telling for whom: only the total counts.
 */
export class Connections {
  readonly #limits: Limits;
  readonly #places = new Map<Socket, ConnectionPlace>();
  readonly #byNetwork = new Tally<string>();
  /** Of those, with no request signed in. */
  readonly #strangers = new Tally<string>();
  /** Those that are to be told so, or to be cut off when they ask for nothing. */
  readonly #refused = new Map<Socket, Refused>();
  readonly #refusedOf = new Tally<string>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Takes a place for a new connection until it is closed, or refuses it. */
  take(socket: Socket): void {
    // Beyond, they are dropped before anything is made of them.
    if (open >= this.#limits.maxConnections) {
      socket.destroy();
      return;
    }
    open++;
    socket.once('close', () => open--);
    if (this.#limits.trustedProxies > 0) return;
    const network = networkOf(socket.remoteAddress ?? '');
    const { connectionsPerIp = Number.POSITIVE_INFINITY } = this.#limits;
    if (this.#isHalf(network)) this.#refuse(socket, network, 'Too many connections of this address are open', false);
    else if (this.#strangers.of(network) < connectionsPerIp) this.#enter(socket, network, false);
    else {
      const reason = `${connectionsPerIp} connections of this address are open without a sign-in`;
      this.#refuse(socket, network, reason, true);
    }
  }

  /** Why requests on a connection are not answered; undefined when they are. */
  refusalOf(socket: Socket): RateLimitHitError | undefined {
    return this.#refused.get(socket)?.error;
  }

  /** Whether a connection that is refused would not be, if somebody signed in on it. */
  waitsForSignIn(socket: Socket): boolean {
    return this.#refused.get(socket)?.isStranger === true;
  }

  /**
   * Takes a connection off its address's account, when somebody has signed in on it. One that is refused gets its place, if
   * that is what it takes.
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

  /** Whether a network has all the places that one may have. */
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
    // A refusal keeps a connection open for a moment as well: of a flood, most are closed without one.
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
