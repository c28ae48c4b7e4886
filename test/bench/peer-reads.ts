import { isDeepStrictEqual } from 'node:util';
import { globalId } from '../helpers/global-ids.ts';
import { startInProcess } from '../helpers/in-process.ts';
import { CountingProxy } from './counting-proxy.ts';
import { measureDatabaseCpu, median } from './measure.ts';
import { DOCUMENTS, hasTopic, type ReadName } from './peer-documents.ts';
import { makePeerGround, type PeerGround, readMost, SIZES } from './peer-ground.ts';
import { PEERS, type Peer, type PeerTasks, peerWorker } from './peers.ts';
import { RawHttp, requestBytes } from './raw-http.ts';
import type { Row } from './report.ts';
import { POOL_SIZE, type Stage } from './stage.ts';
import { withoutSignatures } from './unsigned.ts';
import type { Worker } from './workers.ts';

const CONNECTIONS = 32;

const READS: Readonly<Record<ReadName, string>> = {
  viewer: '(a) viewer',
  channels: '(b) 20 channels with their 5 newest messages',
  topic: '(c) 50 newest messages of a topic, with reactions and flags',
  ownTopic: '(c) the same, a different topic for each reader',
  screen: `(d) first screen of ${SIZES.channels} channels`,
  sidebar: `(e) sidebar of ${SIZES.channels} channels with unread count and newest message`,
};
const NAMES = Object.keys(READS) as ReadName[];
/** Reads that are also measured while a few hundred messages are unread, instead of nearly all. */
const WITH_FEW_UNREAD: readonly ReadName[] = ['viewer', 'screen', 'sidebar'];

/** One of the compared servers: the service or a peer. */
interface Side {
  readonly name: string;
  readonly port: number;
  readonly cpu: () => Promise<number>;
  /** The peer if this server is one. Undefined: the service. */
  readonly peer?: Peer;
}

interface Round {
  readonly perSecond: number;
  /** CPU time that the server process uses for one request, in milliseconds. */
  readonly cpuMs: number;
  /** CPU time that PostgreSQL uses for one request, in milliseconds. */
  readonly databaseMs: number;
  readonly p50: number;
  readonly p99: number;
}

interface Measured {
  readonly rounds: Round[];
  readonly statements: string;
  readonly unequal: string | undefined;
}

/** Measures the reads of a chat, compared with peers: other servers that read the service's tables. Rows "m" of the report. */
export async function measurePeerReads(stage: Stage): Promise<Row[]> {
  const ground = await makePeerGround(stage, CONNECTIONS);
  const workers = PEERS.map((peer) => ({ peer, worker: peerWorker(peer.module) }));
  try {
    const sides: Side[] = [{ name: 'service', port: stage.port, cpu: async () => stage.cpu() }];
    for (const { peer, worker } of workers) {
      await peer.prepare?.(stage.db);
      const port = await worker.ask('serve', {
        databaseUrl: stage.databaseUrl,
        poolSize: POOL_SIZE,
        together: peer.together,
      });
      sides.push({ name: peer.name, port, cpu: () => worker.ask('cpu', undefined), peer });
    }
    const statements = await countStatements(stage, ground);
    const rows: Row[] = [];
    const measure = async (name: ReadName, what: string) => {
      const compared = sides.filter((side) => isCompared(side, name));
      rows.push(...(await measureRead(stage, { name, what, ground, sides: compared, statements })));
    };
    for (const name of NAMES) await measure(name, READS[name]);
    await readMost(stage, ground);
    for (const name of WITH_FEW_UNREAD) await measure(name, `${READS[name]}, a few hundred messages unread`);
    return rows;
  } finally {
    for (const { worker } of workers) await worker[Symbol.asyncDispose]();
  }
}

const isCompared = ({ peer }: Pick<Side, 'peer'>, name: ReadName): boolean =>
  peer === undefined || peer.marks[name] !== undefined;

interface Comparison {
  readonly name: ReadName;
  /** Description of the read for the report. */
  readonly what: string;
  readonly ground: PeerGround;
  readonly sides: readonly Side[];
  readonly statements: ReadonlyMap<string, string>;
}

async function measureRead(stage: Stage, { name, what, ground, sides, statements }: Comparison): Promise<Row[]> {
  const expected = shownBy(await askOnce(sides[0] as Side, name, ground), sides[0] as Side, name);
  const measured = new Map<string, Measured>();
  for (const side of sides) {
    const shown = shownBy(await askOnce(side, name, ground), side, name);
    const unequal = isDeepStrictEqual(shown, expected) ? undefined : `different replies${difference(expected, shown)}`;
    measured.set(side.name, { rounds: [], statements: statements.get(keyOf(side.name, name)) ?? '', unequal });
  }
  // V8 compiles the code of a server only after several hundred requests, so the first rounds are not measured.
  const [warmUp, rounds, seconds] = stage.quick ? [3, 3, 1] : [2, 6, 2];
  for (let i = 0; i < warmUp + rounds; i++) {
    for (const side of sides) {
      const round = await runRound(stage, side, requestsOf(side, name, ground), seconds);
      if (i >= warmUp) measured.get(side.name)?.rounds.push(round);
    }
  }
  const [service, ...peers] = sides.map((side) => ({ side, found: measured.get(side.name) as Measured }));
  return peers.flatMap(({ side, found }) => rowsOf({ name, what }, service?.found as Measured, side, found));
}

const keyOf = (side: string, name: ReadName) => `${side} ${name}`;

async function runRound({ generator, db }: Stage, side: Side, requests: Buffer[], seconds: number): Promise<Round> {
  const [before, databaseCpu] = [await side.cpu(), await measureDatabaseCpu(db)];
  const load = await generator.ask('load', { port: side.port, requests, seconds });
  const each = (spent: number) => (spent / load.answers) * 1000;
  const cpuMs = each((await side.cpu()) - before);
  return { perSecond: load.perSecond, cpuMs, databaseMs: each(await databaseCpu()), ...load.took };
}

/** Returns a description of the first difference between two responses. Empty if they are equal. */
function difference(a: unknown, b: unknown, path = ''): string {
  if (isDeepStrictEqual(a, b)) return '';
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null)
    return ` at ${path}: ${JSON.stringify(a)?.slice(0, 80)} and ${JSON.stringify(b)?.slice(0, 80)}`;
  const [one, other] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const key = [...new Set([...Object.keys(one), ...Object.keys(other)])].find(
    (name) => !isDeepStrictEqual(one[name], other[name]),
  );
  return key === undefined ? '' : difference(one[key], other[key], `${path}.${key}`);
}

/**
 * Returns the data of a response, converted to the form of the service's responses. @throws {Error} If the response has errors.
 */
function shownBy(body: string, { peer }: Side, name: ReadName): unknown {
  const { data, errors } = JSON.parse(withoutSignatures(body)) as { data: unknown; errors?: unknown };
  if (errors !== undefined) throw new Error(`${peer?.name ?? 'service'}: ${JSON.stringify(errors).slice(0, 1000)}`);
  return peer?.shown === undefined ? data : peer.shown(name, data);
}

function requestsOf({ port, peer }: Pick<Side, 'port' | 'peer'>, name: ReadName, ground: PeerGround): Buffer[] {
  const { topic, channelIds, readers } = ground;
  return readers.map(({ id, basic }, i) => {
    const channelId = channelIds[name === 'ownTopic' ? i : 0] ?? 0;
    const ask = peer?.ask?.(name, { channelId, topic }) ?? {
      query: DOCUMENTS[name],
      ...(hasTopic(name) && { variables: { channelId: globalId('Channel', channelId), topic } }),
    };
    return requestBytes({
      method: 'POST',
      path: '/graphql',
      port,
      headers: { Authorization: basic, 'Content-Type': 'application/json', Accept: 'application/json' },
      body: JSON.stringify(typeof ask === 'function' ? ask(id) : ask),
    });
  });
}

async function askOnce(side: Pick<Side, 'port' | 'peer'>, name: ReadName, ground: PeerGround): Promise<string> {
  const connection = await RawHttp.connect(side.port);
  const request = requestsOf(side, name, ground).at(-1);
  const { status, body } = await connection.ask(request as Buffer).finally(() => connection.close());
  if (status !== 200) throw new Error(`${side.peer?.name ?? 'service'} answered ${status}: ${body.slice(0, 1000)}`);
  return body;
}

/**
 * Counts the SQL statements of each read. The requests are sent to separate processes behind a counting proxy. They are sent
 * one at a time, so that no two share a statement.
 *
 * @returns The counts as text, by server and read.
 */
async function countStatements(stage: Stage, ground: PeerGround): Promise<Map<string, string>> {
  await using proxy = await CountingProxy.open(stage.databaseUrl);
  const counted = new Map<string, string>();
  const count = async (side: Pick<Side, 'name' | 'port' | 'peer'>) => {
    for (const name of NAMES.filter((each) => isCompared(side, each)))
      counted.set(keyOf(side.name, name), await countOf(proxy, () => askOnce(side, name, ground)));
  };
  {
    await using node = await startInProcess({
      env: { DATABASE_URL: proxy.url, SECRET_KEY: stage.service.env['SECRET_KEY'] ?? '', GUARD_TRANSACTIONS: 'off' },
    });
    await count({ name: 'service', port: Number(new URL(node.url).port) });
  }
  for (const peer of PEERS) {
    await using worker: Worker<PeerTasks> = peerWorker(peer.module);
    const port = await worker.ask('serve', { databaseUrl: proxy.url, poolSize: POOL_SIZE, together: peer.together });
    await count({ name: peer.name, port, peer });
  }
  return counted;
}

async function countOf(proxy: CountingProxy, ask: () => Promise<unknown>): Promise<string> {
  for (let i = 0; i < 3; i++) await ask();
  const found: { statements: number; control: number }[] = [];
  for (let i = 0; i < 9; i++) {
    const before = proxy.counts;
    await ask();
    const { statements, control } = proxy.counts;
    found.push({ statements: statements - before.statements, control: control - before.control });
  }
  const control = median(found.map((each) => each.control));
  return `${median(found.map(({ statements }) => statements))}${control > 0 ? ` and ${control} of transaction control` : ''}`;
}

function rowsOf(
  { name, what }: Pick<Comparison, 'name' | 'what'>,
  service: Measured,
  { name: peer, peer: kind }: Side,
  by: Measured,
): Row[] {
  const mark = kind?.marks[name];
  const middle = ({ rounds }: Measured, field: 'p50' | 'p99') => median(rounds.map((round) => round[field])).toFixed(1);
  const both = (say: (side: Measured) => string) => `service ${say(service)}; ${peer} ${say(by)}`;
  const common = { id: 'm', unequal: by.unequal };
  const perSecond = {
    ...common,
    what: `${what}, against ${peer}`,
    unit: '/s',
    service: service.rounds.map((round) => round.perSecond),
    yardstick: by.rounds.map((round) => round.perSecond),
    ...(mark !== undefined && { mark }),
    facts: {
      'SQL statements per request': both(({ statements }) => statements),
      'CPU per request': both(
        ({ rounds }) =>
          `${median(rounds.map(({ cpuMs }) => cpuMs)).toFixed(2)} ms and ${median(rounds.map(({ databaseMs }) => databaseMs)).toFixed(2)} ms of PostgreSQL`,
      ),
      latency: both((side) => `p50 ${middle(side, 'p50')} ms, p99 ${middle(side, 'p99')} ms`),
    },
  };
  // The values of service and peer are swapped here, because less CPU time is better. So a higher ratio is better in every row.
  const cpu = {
    ...common,
    what: `${what}: CPU of ${peer}, against that of the service (swapped)`,
    unit: 'ms',
    service: by.rounds.map(({ cpuMs }) => cpuMs),
    yardstick: service.rounds.map(({ cpuMs }) => cpuMs),
    mark: Math.min(1, mark ?? 1),
    facts: {},
  };
  return [perSecond, cpu];
}
