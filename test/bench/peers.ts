import { existsSync } from 'node:fs';
import type pg from 'pg';
import { hasTopic, OF_ROWS, type ReadName } from './peer-documents.ts';
import { Worker } from './workers.ts';

const FOLDER = `${import.meta.dirname}/peers`;

/** What a peer's process does when it is asked. */
export type PeerTasks = {
  /** Resolves with the port it serves at. */
  readonly serve: (input: { databaseUrl: string; poolSize: number; together: boolean }) => Promise<number>;
  readonly cpu: (input: undefined) => number;
};

/** Where a topic is read. */
export interface TopicPlace {
  readonly channelId: number;
  readonly topic: string;
}

/** Who reads the same tables by other means. */
export interface Peer {
  readonly name: string;
  readonly module: string;
  /** Whether requests that come in together are signed in by one look-up, as the service does it. */
  readonly together: boolean;
  /** What the service's part of it should be, where there is a mark; only these reads are compared. */
  readonly marks: Partial<Readonly<Record<ReadName, number>>>;
  /** What it needs in the database besides what is there. */
  readonly prepare?: (db: pg.Client) => Promise<unknown>;
  /** What it is asked, where it has names of its own: the same for all readers, or for each. */
  readonly ask?: (name: ReadName, place: TopicPlace) => object | ((readerId: number) => object);
  /** Its data in the shape of the service's. */
  readonly shown?: (name: ReadName, data: unknown) => unknown;
}

/** Who sends messages by other means. */
export const SENDING_PEER = 'fastify-sends.js';

const MERCURIUS = 'mercurius.js';

/** As PostGraphile writes times, large numbers and lists that hang on a row, brought to how the service writes them. */
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
  marks: { viewer: 1, channels: 1, topic: 1, ownTopic: 1, screen: 1 },
  ask: (name, { channelId, topic }) => ({
    query: OF_ROWS[name],
    ...(hasTopic(name) && { variables: { channelId, topic: topic.toLowerCase() } }),
  }),
  shown: (_name, data) => plain(data),
};

/** Those that are compared with. Sign-in is all that a flat read does: how the peer signs in makes a difference there. */
export const PEERS: readonly Peer[] = [
  {
    name: 'mercurius',
    module: MERCURIUS,
    together: true,
    marks: { viewer: 1, channels: 1, topic: 1, ownTopic: 1, screen: 1.2 },
  },
  { name: 'mercurius, a look-up of the key for each', module: MERCURIUS, together: false, marks: { viewer: 1 } },
  POSTGRAPHILE,
];

/** Whether what the peers are made of is installed: it is no dependency of the service. */
export const hasPeers = (): boolean => existsSync(`${FOLDER}/node_modules`);

export const HOW_TO_INSTALL = 'npm ci --prefix test/bench/peers';

export const peerWorker = (module: string): Worker<PeerTasks> => new Worker<PeerTasks>(`${FOLDER}/${module}`);
