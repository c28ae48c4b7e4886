import { requestBytes } from './raw-http.ts';
import { type Row, ratioOf } from './report.ts';
import type { Stage } from './stage.ts';

export const CONNECTIONS = 32;
export const CONTENT =
  'The build is green again, and the release can go out in the afternoon, if nobody has anything against it.';

/**
 * Ids of a channel created for the benchmark, of its organization and of a sender. The service and the yardstick, a loop of
 * bare INSERT statements, send there.
 */
export interface Ground {
  readonly organizationId: number;
  readonly senderId: number;
  readonly channelId: number;
}

/** Creates a channel without subscribers. */
export async function makeChannel(
  { db, users }: Pick<Stage, 'db' | 'users'>,
  name: string,
  senderId: number = users[0]?.id ?? 0,
): Promise<Ground> {
  const { rows } = await db.query<{ id: number; realm_id: number }>(
    `INSERT INTO channel (realm_id, name, topics_policy) SELECT realm_id, $1, 'inherit' FROM user_account WHERE id = $2
     RETURNING id, realm_id`,
    [name, senderId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('The channel was not created');
  return { organizationId: row.realm_id, senderId, channelId: row.id };
}

/** Subscribes users to a channel directly in the database, because subscribing is not measured. */
export async function subscribe(
  { db }: Pick<Stage, 'db'>,
  { organizationId, channelId }: Pick<Ground, 'organizationId' | 'channelId'>,
  userIds: readonly number[],
): Promise<void> {
  await db.query(
    `INSERT INTO subscription (realm_id, user_id, channel_id, color) SELECT $1, id, $2, '#76ce90' FROM unnest($3::int[]) AS u(id)`,
    [organizationId, channelId, userIds],
  );
  await db.query(
    `INSERT INTO subscription_period (realm_id, user_id, channel_id, began_event_id)
     SELECT $1, id, $2, 1 FROM unnest($3::int[]) AS u(id)`,
    [organizationId, channelId, userIds],
  );
}

/** Returns a request that sends a message, always with the same content. */
export function sendRequest(
  port: number,
  basic: string,
  { channelId, topic, headers = {} }: { channelId: number; topic: string; headers?: Readonly<Record<string, string>> },
): Buffer {
  return requestBytes({
    method: 'POST',
    path: '/api/v1/messages',
    port,
    headers: { Authorization: basic, 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams({ type: 'channel', to: String(channelId), topic, content: CONTENT }).toString(),
  });
}

function sendRequests({ users, port }: Stage, { channelId }: Ground, topic: string): Buffer[] {
  return users.slice(0, CONNECTIONS).map(({ basic }) => sendRequest(port, basic, { channelId, topic }));
}

/** Numbers of subscribers of the compared channels. The cost of a send should not depend on this number. */
const SIZES = [10, 1_000, 10_000] as const;

/**
 * Measures sends to channels of 10, 1,000 and 10,000 subscribers. The latencies of the three channels should be about equal.
 * Rows "g" of the report.
 */
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
      what: `a send to ${SIZES[0]} subscribers, against one to ${size.toLocaleString('en')}`,
      unit: 'ms',
      mark: 1 / 1.2,
      service: few?.took ?? [],
      yardstick: took,
      facts: {},
    };
    return { ...row, facts: { 'larger channel': `${(1 / ratioOf(row)).toFixed(2)} times the latency of the smaller` } };
  });
}
