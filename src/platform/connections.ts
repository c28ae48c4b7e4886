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

/**
 * How many connections this process has open, for whom. A connection is its address's until a request on it is signed in,
 * and is not counted so from then on: a long poll, and whatever else takes its time, belongs to an account, whose
 * requests are counted. What is over a limit is refused; what is open stays.
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
  readonly #refused = new Map<Socket, RateLimitHitError>();
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
    const reason = this.#whyNot(network);
    if (reason === undefined) this.#enter(socket, network);
    else this.#refuse(socket, network, reason);
  }

  /** Why requests on a connection are not answered; undefined when they are. */
  refusalOf(socket: Socket): RateLimitHitError | undefined {
    return this.#refused.get(socket);
  }

  /** Takes a connection off its address's account, when somebody has signed in on it. */
  signIn(socket: Socket): void {
    const place = this.#places.get(socket);
    if (place === undefined || place.isSignedIn) return;
    place.isSignedIn = true;
    this.#strangers.remove(place.network);
  }

  #whyNot(network: string): string | undefined {
    const { connectionsPerIp = Number.POSITIVE_INFINITY, maxConnections } = this.#limits;
    if (this.#strangers.of(network) >= connectionsPerIp) {
      return `${connectionsPerIp} connections of this address are open without a sign-in`;
    }
    if (this.#byNetwork.of(network) >= Math.ceil(maxConnections * SHARE_OF_NETWORK)) {
      return 'Too many connections of this address are open';
    }
    return undefined;
  }

  #enter(socket: Socket, network: string): void {
    const place: ConnectionPlace = { network, isSignedIn: false };
    this.#places.set(socket, place);
    this.#byNetwork.add(network);
    this.#strangers.add(network);
    socket.once('close', () => {
      this.#places.delete(socket);
      this.#byNetwork.remove(network);
      if (!place.isSignedIn) this.#strangers.remove(network);
    });
  }

  #refuse(socket: Socket, network: string, reason: string): void {
    // A refusal keeps a connection open for a moment as well: of a flood, most are closed without one.
    if (this.#refusedOf.of(network) >= MAX_TOLD) {
      socket.destroy();
      return;
    }
    const message = `${reason}; try again in ${RETRY_AFTER_SECONDS} seconds`;
    this.#refused.set(socket, new RateLimitHitError(RETRY_AFTER_SECONDS, undefined, message));
    this.#refusedOf.add(network);
    const late = setTimeout(() => socket.destroy(), FAREWELL_MS).unref();
    socket.once('close', () => {
      clearTimeout(late);
      this.#refused.delete(socket);
      this.#refusedOf.remove(network);
    });
  }
}
