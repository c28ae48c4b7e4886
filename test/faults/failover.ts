import { setTimeout as sleep } from 'node:timers/promises';
import { ServerProcess } from '../helpers/process.ts';
import { makeNeighbour, startDemo } from './demo.ts';
import { type Felt, gapOf } from './felt.ts';
import { acknowledgedBy, type Crowd, figuresOf, gather } from './kills.ts';
import { eventually } from './listeners.ts';
import type { Outcome } from './outcome.ts';
import { startSwitch } from './proxy.ts';
import { between, seeded } from './random.ts';
import { Cluster } from './replicas.ts';
import { Client } from './requests.ts';
import { compareWithTruth } from './truth.ts';

/** Longest accepted time without a successful write after a failover, in milliseconds. */
const RECOVERY_MS = 60_000;
/** Longest accepted time until a node listens for database notifications again, in milliseconds. */
const LISTENING_MS = 30_000;

/**
 * Ways in which the primary fails. "killed": its processes are killed. "silent": its processes are stopped, so that its
 * connections stay open without an answer.
 */
const FAULTS = ['killed', 'silent'] as const;
type Fault = (typeof FAULTS)[number];

/**
 * Makes the primary database fail repeatedly and promotes its synchronous standby, while clients of two nodes write and listen.
 * The processes of the primary are killed or stopped. The address of the database switches to the standby before the standby
 * accepts changes.
 */
export async function failoverTrial({ failovers, seed }: { failovers: number; seed: number }): Promise<Outcome> {
  const random = seeded(seed);
  await using cluster = await Cluster.start();
  await using address = await startSwitch(cluster.primary.port);
  const databaseServer = `postgres://postgres@127.0.0.1:${address.port}/postgres`;
  const env = { EVENT_QUEUE_WRITE_SECONDS: '0.5', REDIS_URL: undefined };
  await using service = await startDemo(databaseServer, env);
  await using other = await ServerProcess.start({ env: service.env });
  const nodes = [service.server, other];
  const neighbour = await makeNeighbour(other);
  await new Client(other.url, neighbour).ask('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'trial' }] });
  const organization: Crowd[] = [];
  const neighbours: Crowd[] = [];
  const all = () => [...organization, ...neighbours];
  for (const { url } of nodes) {
    const others = () => all().reduce((sum, { writers }) => sum + writers.length, 0);
    organization.push(await gather(url, service, random, { besides: others() }));
    neighbours.push(await gather(url, service, random, { people: [neighbour], besides: others() }));
  }

  const gaps: Record<Fault, Gap> = { killed: new Gap(), silent: new Gap() };
  const violations: string[] = [];
  for (let i = 0; i < failovers; i++) {
    if (i > 0) await cluster.renew();
    await sleep(between(random, 500, 2_000));
    const fault = FAULTS[i % FAULTS.length] as Fault;
    const since = performance.now();
    const { primary, standby } = cluster;
    if (fault === 'killed') await cluster.kill();
    else {
      primary.pause();
      address.fallSilent();
    }
    await sleep(between(random, 0, 1_000));
    address.turn(standby.port);
    await sleep(between(random, 0, 1_000));
    await cluster.promote();
    const promotedAt = performance.now();
    const isBack = await eventually(() => all().every((crowd) => wroteSince(crowd, promotedAt)), RECOVERY_MS);
    if (!isBack) throw new Error(`No write ${RECOVERY_MS / 1_000} s after the primary was ${fault}`);
    gaps[fault].take(since, organization, neighbours);
    const listening = async () => (await listeners(cluster, service.databaseUrl)) === nodes.length;
    if (!(await becomes(listening, LISTENING_MS))) {
      violations.push(
        `${await listeners(cluster, service.databaseUrl)} connections listen for notifications after the primary was ${fault}`,
      );
    }
  }
  await Promise.all(all().map((crowd) => crowd.stopWriting()));
  await Promise.all(all().map((crowd) => crowd.stopListening()));
  const writers = all().flatMap((crowd) => crowd.writers);
  const truth = await compareWithTruth(
    service,
    writers,
    all().flatMap((crowd) => crowd.listeners),
  );
  const alarms = nodes.filter((node) => node.log().includes('event log position decreased')).length;
  return {
    trial: 'the primary database is lost, its standby promoted',
    facts: {
      failovers,
      ...figuresOf({ writers, listeners: all().flatMap((crowd) => crowd.listeners) }),
      'acknowledged to neighbours': neighbours.reduce((sum, crowd) => sum + acknowledgedBy(crowd), 0),
      events: truth.events,
      'writes refused': writers.reduce((sum, { refused }) => sum + refused.length, 0),
      'longest without a write, killed': String(gaps.killed),
      'longest without a write, silent': String(gaps.silent),
    },
    violations: [
      ...violations,
      ...(alarms > 0 ? ['a node reported that the event log position decreased'] : []),
      ...writers.flatMap((writer) => writer.violations.lines),
      ...truth.violations,
    ],
    felt: FAULTS.map(
      (fault): Felt => ({ fault: `the primary database ${fault}`, ...truth.broken, ...gaps[fault].felt }),
    ),
  };
}

const wroteSince = ({ writers }: Crowd, moment: number): boolean =>
  writers.some(({ acknowledgedAt }) => (acknowledgedAt.at(-1) ?? 0) > moment);

/** Records the longest time without a write at a node, separately for the demo organization and for another organization. */
class Gap {
  #organization = 0;
  #neighbours = 0;

  take(since: number, organization: readonly Crowd[], neighbours: readonly Crowd[]): void {
    this.#organization = Math.max(this.#organization, ...organization.map((crowd) => gapOf(crowd, since)));
    this.#neighbours = Math.max(this.#neighbours, ...neighbours.map((crowd) => gapOf(crowd, since)));
  }

  get felt(): Pick<Felt, 'gap' | 'neighbours'> {
    return { gap: this.#organization, neighbours: { gap: this.#neighbours, why: 'the primary is shared by all' } };
  }

  toString(): string {
    return `${seconds(this.#organization)}, neighbours ${seconds(this.#neighbours)}`;
  }
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

/** Returns the number of nodes' database connections that listen for notifications. */
async function listeners(cluster: Cluster, databaseUrl = ''): Promise<number> {
  const { pathname } = new URL(databaseUrl);
  const rows = await cluster.primary.ask(
    `SELECT FROM pg_stat_activity WHERE datname = '${pathname.slice(1)}' AND query ~ '^(LISTEN|SELECT pg_notify)'`,
  );
  return rows.length;
}

async function becomes(is: () => Promise<boolean>, patienceMs: number): Promise<boolean> {
  const deadline = performance.now() + patienceMs;
  while (!(await is())) {
    if (performance.now() > deadline) return false;
    await sleep(200);
  }
  return true;
}
