import { median } from './measure.ts';
import { requestBytes } from './raw-http.ts';
import { type Row, ratioOf } from './report.ts';
import { POOL_SIZE, type Stage } from './stage.ts';

const CONNECTIONS = 32;
const CONTENT =
  'The build is green again, and the release can go out in the afternoon, if nobody has anything against it.';

/** A channel made for the benchmark, and the ids a bare loop writes with. */
interface Ground {
  readonly realmId: number;
  readonly senderId: number;
  readonly channelId: number;
}

/** A channel nobody is subscribed to. */
export async function makeChannel({ db, users }: Stage, name: string): Promise<Ground> {
  const senderId = users[0]?.id ?? 0;
  const { rows } = await db.query<{ id: number; realm_id: number }>(
    `INSERT INTO channel (realm_id, name, topics_policy) SELECT realm_id, $1, 'inherit' FROM user_account WHERE id = $2
     RETURNING id, realm_id`,
    [name, senderId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('The channel was not made');
  return { realmId: row.realm_id, senderId, channelId: row.id };
}

/** Subscribes accounts straight in the database: subscribing is not what is measured. */
export async function subscribe(
  { db }: Stage,
  { realmId, channelId }: Ground,
  userIds: readonly number[],
): Promise<void> {
  await db.query(
    `INSERT INTO subscription (realm_id, user_id, channel_id, color) SELECT $1, id, $2, '#76ce90' FROM unnest($3::int[]) AS u(id)`,
    [realmId, channelId, userIds],
  );
  await db.query(
    `INSERT INTO subscription_period (realm_id, user_id, channel_id, began_event_id)
     SELECT $1, id, $2, 1 FROM unnest($3::int[]) AS u(id)`,
    [realmId, channelId, userIds],
  );
}

/** A request that sends a message, always the same. */
export function sendRequest(
  port: number,
  basic: string,
  { channelId, topic }: { channelId: number; topic: string },
): Buffer {
  return requestBytes({
    method: 'POST',
    path: '/api/v1/messages',
    port,
    headers: { Authorization: basic, 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ type: 'channel', to: String(channelId), topic, content: CONTENT }).toString(),
  });
}

function sendRequests({ users, port }: Stage, { channelId }: Ground, topic: string): Buffer[] {
  return users.slice(0, CONNECTIONS).map(({ basic }) => sendRequest(port, basic, { channelId, topic }));
}

/** (f) Messages sent a second in one organisation, against a loop that makes the same rows with nothing around it. */
export async function measureSends(stage: Stage): Promise<Row[]> {
  const { generator, yardsticks, databaseUrl, users, quick, db } = stage;
  const ground = await makeChannel(stage, 'Bench sends');
  await subscribe(
    stage,
    ground,
    users.map(({ id }) => id),
  );
  const requests = sendRequests(stage, ground, 'bench');
  const [warmUp, rounds, seconds] = quick ? [1, 3, 2] : [1, 6, 4];
  const service: number[] = [];
  const yardstick: number[] = [];
  const shares: { generator: number; server: number; latency: string }[] = [];
  for (let i = 0; i < warmUp + rounds; i++) {
    const cpuBefore = stage.cpu();
    const load = await generator.ask('load', { port: stage.port, requests, seconds });
    const server = (stage.cpu() - cpuBefore) / load.seconds;
    const bare = await yardsticks.ask('sends', {
      ...{ databaseUrl, poolSize: POOL_SIZE, inFlight: CONNECTIONS, seconds },
      ...{ ...ground, topic: 'bare', content: CONTENT },
    });
    if (i < warmUp) continue;
    service.push(load.perSecond);
    yardstick.push(bare.perSecond);
    const latency = `p50 ${load.took.p50.toFixed(1)} ms, p99 ${load.took.p99.toFixed(1)} ms`;
    shares.push({ generator: load.cpuSeconds / load.seconds, server, latency });
  }
  const written = await db.query<{ by: string; bytes: string }>(
    `SELECT m.topic AS by, avg(pg_column_size(m.*) + pg_column_size(e.*))::int AS bytes
     FROM message m JOIN event e ON e.realm_id = m.realm_id AND e.id = m.sent_event_id
     WHERE m.channel_id = $1 GROUP BY m.topic`,
    [ground.channelId],
  );
  const share = (name: 'generator' | 'server') => `${Math.round(median(shares.map((each) => each[name])) * 100)} %`;
  return [
    {
      id: 'f',
      what: 'messages sent, one organisation',
      unit: '/s',
      mark: 0.9,
      service,
      yardstick,
      facts: {
        'bytes of message and event': written.rows.map(({ by, bytes }) => `${by} ${bytes}`).join(', '),
        latency: shares.at(-1)?.latency ?? '',
        'CPU of one core': `service ${share('server')}, generator ${share('generator')}`,
        'the yardstick': 'one statement: bumps the counter, inserts message and event; no sign-in, no checks, no HTTP',
      },
    },
  ];
}

/** The sizes whose sends should cost the same. */
const SIZES = [10, 1_000, 10_000] as const;

/** (g) What a send costs in channels of 10, 1,000 and 10,000 subscribers: the least and the most should be alike. */
export async function measureSubscribers(stage: Stage): Promise<Row[]> {
  const { generator, users, quick, db } = stage;
  const everybody = await db.query<{ id: number }>('SELECT id FROM user_account WHERE is_active ORDER BY id DESC');
  const ids = [...new Set([...users.slice(0, 10).map(({ id }) => id), ...everybody.rows.map(({ id }) => id)])];
  const channels = [];
  for (const size of SIZES) {
    const ground = await makeChannel(stage, `Bench ${size}`);
    await subscribe(stage, ground, ids.slice(0, size));
    channels.push({ size, requests: sendRequests(stage, ground, 'bench').slice(0, 8), took: [] as number[] });
  }
  await db.query('VACUUM ANALYZE subscription, subscription_period');
  const [warmUp, rounds, seconds] = quick ? [1, 3, 1] : [1, 8, 2];
  for (let i = 0; i < warmUp + rounds; i++) {
    for (const { requests, took } of channels) {
      const load = await generator.ask('load', { port: stage.port, requests, seconds });
      if (i >= warmUp) took.push(load.took.p50);
    }
  }
  const [few, ...more] = channels;
  return more.map(({ size, took }) => {
    const row: Row = {
      id: 'g',
      what: `a send with ${SIZES[0]} subscribers, against one with ${size.toLocaleString('en')}`,
      unit: 'ms',
      mark: 1 / 1.2,
      service: few?.took ?? [],
      yardstick: took,
      facts: {},
    };
    return { ...row, facts: { 'the larger costs': `${(1 / ratioOf(row)).toFixed(2)} times as much` } };
  });
}
