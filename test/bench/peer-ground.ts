import { setTimeout } from 'node:timers/promises';
import type { BenchUser, Stage } from './stage.ts';

/** Amount of test data for the comparison with peers. It exceeds that of most organizations. */
export const SIZES = {
  channels: 300,
  topicsEach: 20,
  messagesEach: 34,
  longTopic: 60,
  folders: 12,
  senders: 50,
} as const;

/** The organization and topic that the compared reads query, and the readers. */
export interface PeerGround {
  readonly organizationId: number;
  /** Channels that contain the topic, one for each reader. Reads that do not depend on the reader use the first channel. */
  readonly channelIds: readonly number[];
  readonly topic: string;
  readonly readers: readonly BenchUser[];
}

const LONG_TOPIC = 'the release of autumn';

/**
 * Inserts test data directly into the database of the demo organization: channels in folders, each with topics, reactions and
 * flags. Every reader is subscribed to all channels. All messages are unread, except the first 30 of the topic in the first
 * channel.
 *
 * @param count Number of readers.
 */
export async function makePeerGround({ db, users }: Stage, count: number): Promise<PeerGround> {
  const readers = users.slice(0, count);
  const { rows } = await db.query<{ realm_id: number }>('SELECT realm_id FROM user_account WHERE id = $1', [
    readers[0]?.id,
  ]);
  const organizationId = rows[0]?.realm_id ?? 0;
  const readerIds = readers.map(({ id }) => id);
  await db.query(`SELECT setval('message_id_seq', 1000000)`);
  const senders = await db.query<{ id: number }>(
    `SELECT id FROM user_account WHERE realm_id = $1 AND email LIKE 'other%' ORDER BY id LIMIT $2`,
    [organizationId, SIZES.senders],
  );
  const senderIds = senders.rows.map(({ id }) => id);
  const channelIds = await makeChannels({ db }, { organizationId, readerIds, senderIds });
  const [channelId = 0] = channelIds;
  const long = channelIds.slice(0, count);
  await makeMessages({ db }, { organizationId, senderIds, channelIds, long });
  await makeMarks({ db }, { organizationId, readerIds, senderIds, channelId });
  await counted({ db }, organizationId);
  await db.query('VACUUM ANALYZE');
  return { organizationId, channelIds: long, topic: LONG_TOPIC, readers };
}

/**
 * Marks the messages of the ground as read by all readers, except for the newest one in each channel: a few hundred remain
 * unread.
 */
export async function readMost({ db }: Pick<Stage, 'db'>, { organizationId, readers }: PeerGround): Promise<void> {
  const readerIds = readers.map(({ id }) => id);
  await db.query('DELETE FROM read_exception WHERE realm_id = $1 AND user_id = ANY($2::int[])', [
    organizationId,
    readerIds,
  ]);
  await db.query(
    `INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
     SELECT $1::int, u, m.channel_id::bigint * 2, max(m.id) - 1
     FROM message m, unnest($2::int[]) AS u WHERE m.realm_id = $1 AND m.client_name = 'bench' GROUP BY u, m.channel_id
     ON CONFLICT (realm_id, user_id, recipient_id) DO UPDATE SET read_through = EXCLUDED.read_through`,
    [organizationId, readerIds],
  );
  await db.query('VACUUM ANALYZE');
}

/**
 * Waits until the background job of the service has counted all messages. Before that, its counter tables are empty. If the
 * tables were analyzed then, PostgreSQL would choose query plans for empty tables.
 */
async function counted({ db }: Pick<Stage, 'db'>, organizationId: number): Promise<void> {
  const isBehind = `SELECT FROM message WHERE realm_id = $1
    AND id > (SELECT COALESCE(max(through_id), 0) FROM message_tally WHERE realm_id = $1) LIMIT 1`;
  while ((await db.query(isBehind, [organizationId])).rowCount !== 0) await setTimeout(500);
}

interface Ids {
  readonly organizationId: number;
  readonly readerIds: readonly number[];
  readonly senderIds: readonly number[];
}

async function makeChannels(
  { db }: Pick<Stage, 'db'>,
  { organizationId, readerIds, senderIds }: Ids,
): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>(
    `WITH folders AS (
       INSERT INTO channel_folder (realm_id, name, position)
       SELECT $1, 'folder ' || n, n FROM generate_series(1, $2::int) AS n RETURNING id, position)
     INSERT INTO channel (realm_id, name, description, creator_id, folder_id, topics_policy)
     SELECT $1, 'a channel ' || lpad(n::text, 3, '0'), 'What is said of ' || n, ($4::int[])[1 + n % $5::int], f.id, 'inherit'
     FROM generate_series(1, $3::int) AS n JOIN folders f ON f.position = 1 + n % $2::int ORDER BY n RETURNING id`,
    [organizationId, SIZES.folders, SIZES.channels, senderIds, senderIds.length],
  );
  const channelIds = rows.map(({ id }) => id).sort((a, b) => a - b);
  // Every fifth sender is a subscriber of a channel, too.
  await db.query(
    `INSERT INTO subscription (realm_id, user_id, channel_id, color, pin_to_top)
     SELECT $1::int, u, c, '#76ce90', c % 50 = 0 FROM unnest($2::int[]) AS u, unnest($3::int[]) AS c
     UNION ALL SELECT $1::int, u, c, '#76ce90', false FROM unnest($4::int[]) AS u, unnest($3::int[]) AS c WHERE (u + c) % 5 = 0`,
    [organizationId, readerIds, channelIds, senderIds],
  );
  await db.query(
    `INSERT INTO subscription_period (realm_id, user_id, channel_id, began_event_id)
     SELECT realm_id, user_id, channel_id, 1 FROM subscription WHERE channel_id = ANY($1)`,
    [channelIds],
  );
  return channelIds;
}

/**
 * Inserts messages: first a long topic in each of the channels `long`, then short topics. Those are sent alternately to all
 * channels, as users would do.
 */
async function makeMessages(
  { db }: Pick<Stage, 'db'>,
  {
    organizationId,
    senderIds,
    channelIds,
    long,
  }: Pick<Ids, 'organizationId' | 'senderIds'> & {
    readonly channelIds: readonly number[];
    readonly long: readonly number[];
  },
): Promise<void> {
  const columns = `realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content, client_name,
    sent_at, sent_event_id, send_token, last_edited_at`;
  const rest = (n: string, channel: string, topic: string) => `
    $1::int, nextval('message_id_seq'), ($2::int[])[1 + (${n} * 7) % $3::int], ${channel}, ${channel}, ${topic}, t.content,
    '<p>' || t.content || '</p>', 'bench', '2026-01-01'::timestamptz + ${n} * interval '1 minute', 1, 1,
    CASE WHEN ${n} % 9 = 0 THEN '2026-02-01'::timestamptz END`;
  const content = (n: string) =>
    `LATERAL (SELECT 'Message ' || ${n} || ' of the organization: about as long as what people write to each other.' AS content) AS t`;
  const values = [organizationId, senderIds, senderIds.length];
  await db.query(
    `INSERT INTO message (${columns})
     SELECT ${rest('n', 'c.id', '$5')}
     FROM unnest($4::int[]) AS c(id), generate_series(1, $6::int) AS n, ${content('n')} ORDER BY c.id, n`,
    [...values, long, LONG_TOPIC, SIZES.longTopic],
  );
  await db.query(
    `INSERT INTO message (${columns})
     SELECT ${rest('n', '($4::int[])[1 + n % $5::int]', `'topic ' || (n / $5::int) % $6::int`)}
     FROM generate_series(0, $5::int * $7::int - 1) AS n, ${content('n')} ORDER BY n`,
    [...values, channelIds, channelIds.length, SIZES.topicsEach, SIZES.messagesEach],
  );
}

/** Inserts reactions, message flags and the read state of one channel. */
async function makeMarks(
  { db }: Pick<Stage, 'db'>,
  { organizationId, readerIds, senderIds, channelId }: Ids & { readonly channelId: number },
): Promise<void> {
  await db.query(
    `INSERT INTO reaction (realm_id, message_id, user_id, emoji_name, emoji_code, reaction_type)
     SELECT $1::int, m.id, u, e.name, e.code, 'unicode_emoji'
     FROM message m, (VALUES (0, 'heart', '2764'), (1, 'tada', '1f389'), (2, '+1', '1f44d')) AS e(n, name, code),
          unnest($2::int[]) AS u
     WHERE m.realm_id = $1 AND m.channel_id IS NOT NULL AND (m.id + e.n) % 3 = 0 AND (u + m.id) % 20 = e.n
       AND (m.topic = $3 OR m.id % 5 = 0) ORDER BY m.id, u`,
    [organizationId, senderIds, LONG_TOPIC],
  );
  await db.query(
    `INSERT INTO user_message (realm_id, user_id, message_id, starred, mentioned)
     SELECT $1::int, u, m.id, m.id % 8 = 0, m.id % 6 = 0 FROM message m, unnest($2::int[]) AS u
     WHERE m.realm_id = $1 AND m.client_name = 'bench' AND (m.id % 8 = 0 OR m.id % 6 = 0) AND (m.topic = $3 OR m.id % 5 = 0)`,
    [organizationId, readerIds, LONG_TOPIC],
  );
  await db.query(
    `INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
     SELECT $1::int, u, $3::bigint * 2, (SELECT min(id) + 29 FROM message WHERE channel_id = $3 AND topic = $4)
     FROM unnest($2::int[]) AS u`,
    [organizationId, readerIds, channelId, LONG_TOPIC],
  );
  await db.query(
    `INSERT INTO read_exception (realm_id, user_id, message_id, recipient_id, is_read)
     SELECT $1::int, u, m.id, $3::bigint * 2, m.id > (SELECT min(id) + 29 FROM message WHERE channel_id = $3 AND topic = $4)
     FROM unnest($2::int[]) AS u, message m WHERE m.channel_id = $3 AND m.topic = $4 AND m.id % 10 = 0`,
    [organizationId, readerIds, channelId, LONG_TOPIC],
  );
}
