import { existsSync } from 'node:fs';
import type pg from 'pg';
import { hasTopic, OF_ROWS, type ReadName } from './peer-documents.ts';
import { Worker } from './workers.ts';

const FOLDER = `${import.meta.dirname}/peers`;

/** Tasks that run in the process of a peer, which is a server that the service is compared with. */
export type PeerTasks = {
  /**
   * Starts the HTTP server and resolves with its port.
   *
   * @param input.together Whether one query looks up the API keys of concurrent requests.
   */
  readonly serve: (input: { databaseUrl: string; poolSize: number; together: boolean }) => Promise<number>;
  readonly cpu: (input: undefined) => number;
};

/** A topic in a channel. */
export interface TopicPlace {
  readonly channelId: number;
  readonly topic: string;
}

/** A server that reads the service's tables, but uses another library. */
export interface Peer {
  readonly name: string;
  readonly module: string;
  /** Whether one query looks up the API keys of concurrent requests, as in the service. */
  readonly together: boolean;
  /** Lowest accepted ratio of the service's rate to the peer's rate, by read. Reads without a ratio are not compared. */
  readonly marks: Partial<Readonly<Record<ReadName, number>>>;
  /** Creates the database objects that the peer needs. Undefined if it needs none. */
  readonly prepare?: (db: pg.Client) => Promise<unknown>;
  /**
   * Returns the request body for a read, if the peer's schema has other names than the service's. The result is one body for
   * all readers, or a function that returns one for each reader.
   */
  readonly ask?: (name: ReadName, place: TopicPlace) => object | ((readerId: number) => object);
  /** Converts data that the peer returned to the form in which the service returns it. */
  readonly shown?: (name: ReadName, data: unknown) => unknown;
}

/** Module of the peer server that sends messages. */
export const SENDING_PEER = 'fastify-sends.js';

const MERCURIUS = 'mercurius.js';

/** Converts times, large integers and lists of a row from PostGraphile's notation to the service's. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plainPart(name, part)]));
}

function plainPart(name: string, part: unknown): unknown {
  if (name === 'databaseId') return Number(part);
  if (name.endsWith('At') && typeof part === 'string') return new Date(part).toISOString();
  if (name === 'reactions') return plain((part as { nodes: unknown }).nodes);
  return plain(part);
}

const POSTGRAPHILE: Peer = {
  name: 'PostGraphile 5',
  module: 'postgraphile.js',
  together: true,
  marks: { viewer: 1, channels: 1, topic: 1, ownTopic: 1, screen: 1, sidebar: 1 },
  ask: (name, { channelId, topic }) => ({
    query: OF_ROWS[name],
    ...(hasTopic(name) && { variables: { channelId, topic: topic.toLowerCase() } }),
  }),
  shown: (_name, data) => plain(data),
};

/**
 * The compared peers. Authentication takes most of the time of a read with few fields, so it matters how a peer authenticates.
 */
export const PEERS: readonly Peer[] = [
  {
    name: 'mercurius',
    module: MERCURIUS,
    together: true,
    marks: { viewer: 0.9, channels: 1, topic: 1, ownTopic: 1, screen: 1.5, sidebar: 1.5 },
  },
  { name: 'mercurius, one key lookup per request', module: MERCURIUS, together: false, marks: { viewer: 1 } },
  POSTGRAPHILE,
];

/** Whether the packages of the peers are installed. They are not dependencies of the service. */
export const hasPeers = (): boolean => existsSync(`${FOLDER}/node_modules`);

export const HOW_TO_INSTALL = 'npm ci --prefix test/bench/peers';

export const peerWorker = (module: string): Worker<PeerTasks> => new Worker<PeerTasks>(`${FOLDER}/${module}`);
