import { runCommand } from '../helpers/control.ts';
import { requestBytes } from './raw-http.ts';
import { type Row, ratioOf } from './report.ts';
import type { Stage } from './stage.ts';

const CONNECTIONS = 8;
/** Number of messages in the channel whose messages are read. It is the same in the small and in the large organization. */
const IN_CHANNEL = 5_000;
const SMALL = 10_000;
const LARGE = 1_000_000;
const CHANNELS = 100;

/**
 * An organization of a given size, requests for the newest messages of one of its channels, and the durations of these
 * requests.
 */
interface Ground {
  readonly size: number;
  readonly requests: readonly Buffer[];
  readonly took: number[];
}

/**
 * Measures how long it takes to read the 50 newest messages of a channel, in an organization of 10,000 messages and in one of
 * 1,000,000. Rows "h" of the report.
 */
export async function measureHistory(stage: Stage): Promise<Row[]> {
  const { generator, port, quick, db } = stage;
  const grounds: Ground[] = [];
  const startedAt = performance.now();
  for (const size of [SMALL, quick ? LARGE / 5 : LARGE]) grounds.push(await makeGround(stage, size));
  await db.query('VACUUM ANALYZE message');
  const filling = (performance.now() - startedAt) / 1000;
  const [warmUp, rounds, seconds] = quick ? [1, 3, 1] : [1, 8, 2];
  let body = '';
  for (let i = 0; i < warmUp + rounds; i++) {
    for (const { requests, took } of grounds) {
      const load = await generator.ask('load', { port, requests, seconds });
      body = load.sample.body;
      if (i >= warmUp) took.push(load.took.p50);
    }
  }
  const count = (JSON.parse(body) as { messages: unknown[] }).messages.length;
  const [small, large] = grounds as [Ground, Ground];
  const row: Row = {
    id: 'h',
    what: `50 newest messages of a channel, among ${SMALL.toLocaleString('en')} against ${large.size.toLocaleString('en')}`,
    unit: 'ms',
    mark: 1 / 1.3,
    service: small.took,
    yardstick: large.took,
    facts: {},
  };
  const times = `${(1 / ratioOf(row)).toFixed(2)} times the latency of the smaller`;
  const facts = {
    'larger organization': times,
    'messages in the reply': count,
    'time to fill both': `${filling.toFixed(0)} s`,
  };
  return [{ ...row, facts }];
}

async function makeGround(stage: Stage, size: number): Promise<Ground> {
  const { db, port, service } = stage;
  const subdomain = `size${size}`;
  const made = (await runCommand(service.server.dataDir, 'org create', {
    subdomain,
    name: `Organization of ${size}`,
    people: [{ name: 'owner', role: 'owner', email: `owner@${subdomain}.example` }],
  })) as { realm_id: number; users: { user_id: number; email: string; api_key: string }[] };
  const [owner] = made.users;
  if (owner === undefined) throw new Error('The organization has no owner');
  const ids = await fillHistory(db, { organizationId: made.realm_id, senderId: owner.user_id, size });
  const query = new URLSearchParams({
    ...{ anchor: 'newest', num_before: '50', num_after: '0' },
    narrow: JSON.stringify([{ operator: 'channel', operand: ids[0] }]),
  });
  const request = requestBytes({
    method: 'GET',
    path: `/api/v1/messages?${query}`,
    port,
    headers: {
      Host: `${subdomain}.localhost:${port}`,
      Authorization: `Basic ${Buffer.from(`${owner.email}:${owner.api_key}`).toString('base64')}`,
    },
  });
  return { size, requests: Array.from({ length: CONNECTIONS }, () => request), took: [] };
}

/**
 * Inserts channels and messages directly into the database. The first channel gets `IN_CHANNEL` messages in every organization,
 * distributed evenly over the organization's history.
 *
 * @returns The ids of the channels.
 */
export async function fillHistory(
  db: Stage['db'],
  { organizationId, senderId, size }: { organizationId: number; senderId: number; size: number },
): Promise<readonly number[]> {
  const channels = await db.query<{ id: number }>(
    `INSERT INTO channel (realm_id, name) SELECT $1, 'channel ' || i FROM generate_series(1, $2::int) AS i RETURNING id`,
    [organizationId, CHANNELS],
  );
  const channelIds = channels.rows.map(({ id }) => id).sort((a, b) => a - b);
  await db.query(
    `INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content,
                          client_name, sent_at, sent_event_id, send_token)
     SELECT $1, nextval('message_id_seq'), $2, c.id, c.id, 'topic ' || i % 40, t.content, '<p>' || t.content || '</p>',
            'bench', now() - ($5::int - i) * interval '10 seconds', i, i
     FROM generate_series(1, $5::int) AS i,
          LATERAL (SELECT CASE WHEN i % ($5::int / $6::int) = 0 THEN ($3::int[])[1]
                               ELSE ($3::int[])[2 + i % ($4::int - 1)] END AS id) AS c,
          LATERAL (SELECT 'Message ' || i || ' of the organization, about as long as people write them.' AS content) AS t`,
    [organizationId, senderId, channelIds, CHANNELS, size, IN_CHANNEL],
  );
  await db.query('UPDATE event_counter SET last_id = $2 WHERE realm_id = $1', [organizationId, size]);
  return channelIds;
}
