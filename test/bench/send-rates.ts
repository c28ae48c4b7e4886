import { makeNeighbour } from '../faults/demo.ts';
import { median } from './measure.ts';
import { hasPeers, peerWorker, SENDING_PEER } from './peers.ts';
import type { Row } from './report.ts';
import { CONNECTIONS, CONTENT, type Ground, makeChannel, sendRequest, subscribe } from './sends.ts';
import { POOL_SIZE, type Stage } from './stage.ts';

const ORGANIZATIONS = 16;
/** Placeholder in a request, which is replaced by an idempotency key. */
const KEY = '0000000000000000';

/** A user who sends messages, and the channel to which this user sends. */
interface BenchSender {
  readonly ground: Ground;
  readonly basic: string;
  readonly host?: string;
}

/** One of the compared servers: the service, with or without idempotency keys, or a peer. */
interface Side {
  readonly port: number;
  readonly requests: readonly Buffer[];
  readonly cpu: () => Promise<number>;
}

interface Round {
  readonly perSecond: number;
  readonly cpuMs: number;
  readonly generator: number;
  readonly p50: number;
  readonly p99: number;
}

/**
 * Measures how many messages the service sends per second, in one and in many organizations. The yardstick is a loop that only
 * inserts the rows that the service would insert. Rows "f" of the report.
 */
export async function measureSends(stage: Stage): Promise<Row[]> {
  const peer = hasPeers() ? peerWorker(SENDING_PEER) : undefined;
  try {
    const peerPort = await peer?.ask('serve', { databaseUrl: stage.databaseUrl, poolSize: POOL_SIZE, together: true });
    const rows: Row[] = [];
    for (const senders of [await sendersOfOne(stage), await sendersOfMany(stage)]) {
      const asking = (port: number, isKeyed: boolean) => requestsOf(port, senders, isKeyed);
      const cpu = async () => stage.cpu();
      const sides: Record<string, Side> = {
        plain: { port: stage.port, requests: asking(stage.port, false), cpu },
        keyed: { port: stage.port, requests: asking(stage.port, true), cpu },
      };
      if (peer !== undefined && peerPort !== undefined) {
        const requests = asking(peerPort, false);
        sides['peer'] = { port: peerPort, requests, cpu: () => peer.ask('cpu', undefined) };
      }
      rows.push(...(await compare(stage, senders, sides)));
    }
    return rows;
  } finally {
    await peer?.[Symbol.asyncDispose]();
  }
}

async function sendersOfOne(stage: Stage): Promise<BenchSender[]> {
  const ground = await makeChannel(stage, 'Bench sends');
  const ids = stage.users.map(({ id }) => id);
  await subscribe(stage, ground, ids);
  return stage.users.slice(0, CONNECTIONS).map(({ basic }) => ({ ground, basic }));
}

/** Returns the owners of `ORGANIZATIONS` new organizations, repeated until there is one for each connection. */
async function sendersOfMany(stage: Stage): Promise<BenchSender[]> {
  const senders: BenchSender[] = [];
  for (let i = 0; i < ORGANIZATIONS; i++) {
    const { userId, basic, subdomain = '' } = await makeNeighbour(stage.service.server);
    const ground = await makeChannel(stage, 'Bench sends', userId);
    await subscribe(stage, ground, [userId]);
    senders.push({ ground, basic, host: `${subdomain}.localhost:${stage.port}` });
  }
  await stage.db.query('UPDATE event_counter SET last_id = 1000000');
  return Array.from({ length: CONNECTIONS / ORGANIZATIONS }, () => senders).flat();
}

const requestsOf = (port: number, senders: readonly BenchSender[], isKeyed: boolean): Buffer[] =>
  senders.map(({ ground, basic, host }) => {
    const headers = { ...(host !== undefined && { Host: host }), ...(isKeyed && { 'Idempotency-Key': KEY }) };
    return sendRequest(port, basic, { channelId: ground.channelId, topic: 'bench', headers });
  });

async function compare(
  stage: Stage,
  senders: readonly BenchSender[],
  sides: Readonly<Record<string, Side>>,
): Promise<Row[]> {
  const { yardsticks, databaseUrl, quick } = stage;
  const grounds = [...new Set(senders.map(({ ground }) => ground))];
  const [warmUp, rounds, seconds] = quick ? [1, 3, 2] : [1, 6, 4];
  const bare: number[] = [];
  const found: Record<string, Round[]> = {};
  for (let i = 0; i < warmUp + rounds; i++) {
    for (const [name, side] of Object.entries(sides)) {
      const round = await runRound(stage, side, seconds);
      if (i >= warmUp) found[name] = [...(found[name] ?? []), round];
    }
    const { perSecond } = await yardsticks.ask('sends', {
      ...{ databaseUrl, poolSize: POOL_SIZE, inFlight: CONNECTIONS, seconds },
      ...{ grounds, topic: 'bare', content: CONTENT },
    });
    if (i >= warmUp) bare.push(perSecond);
  }
  const isOne = grounds.length === 1;
  const where = isOne ? 'one organization' : `${grounds.length} organizations`;
  const sizes = { 'bytes of message and event': await sizesOf(stage, grounds) };
  const { plain = [], keyed = [], peer = [] } = found;
  const rates = (of: readonly Round[]) => of.map(({ perSecond }) => perSecond);
  const row = (
    what: string,
    service: readonly Round[],
    yardstick: readonly number[],
    mark: number,
    by: object,
  ): Row => ({
    ...{ id: 'f', what: `messages sent, ${where}${what}`, unit: '/s', mark, service: rates(service), yardstick },
    facts: { 'the service': said(service), ...by },
  });
  const loop = 'one statement: increments the counter, inserts message and event; no sign-in, checks, HTTP or keys';
  return [
    row('', plain, bare, isOne ? 0.9 : 0.5, { ...sizes, 'the yardstick': loop }),
    row(', with idempotency keys', keyed, bare, isOne ? 0.9 : 0.5, { 'the yardstick': loop }),
    ...(peer.length === 0 ? [] : [row(', against fastify', plain, rates(peer), 1, { fastify: said(peer) })]),
    ...(peer.length === 0 ? [] : [row(', with idempotency keys, against fastify', keyed, rates(peer), 1, {})]),
  ];
}

async function runRound({ generator }: Stage, { port, requests, cpu }: Side, seconds: number): Promise<Round> {
  const before = await cpu();
  const load = await generator.ask('load', { port, requests, seconds, counted: KEY });
  const cpuMs = (((await cpu()) - before) / load.answers) * 1000;
  return { perSecond: load.perSecond, cpuMs, generator: load.cpuSeconds / load.seconds, ...load.took };
}

function said(rounds: readonly Round[]): string {
  const of = (name: keyof Round, digits: number) => median(rounds.map((round) => round[name])).toFixed(digits);
  const generator = Math.round(Number(of('generator', 2)) * 100);
  return `p50 ${of('p50', 1)} ms, p99 ${of('p99', 1)} ms, CPU ${of('cpuMs', 2)} ms per send, generator ${generator} % of a core`;
}

async function sizesOf({ db }: Stage, grounds: readonly Ground[]): Promise<string> {
  const { rows } = await db.query<{ by: string; bytes: string }>(
    `SELECT m.topic AS by, avg(pg_column_size(m.*) + pg_column_size(e.*))::int AS bytes
     FROM message m JOIN event e ON e.realm_id = m.realm_id AND e.id = m.sent_event_id
     WHERE m.channel_id = ANY ($1) GROUP BY m.topic`,
    [grounds.map(({ channelId }) => channelId)],
  );
  return rows.map(({ by, bytes }) => `${by} ${bytes}`).join(', ');
}
