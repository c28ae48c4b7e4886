import { makeOrganization, type OtherOrganization } from '../faults/demo.ts';
import { Client } from '../faults/requests.ts';
import { indexHistory, tallyMessages } from './backlog.ts';
import { median } from './measure.ts';
import type { Row } from './report.ts';
import { subscribe } from './sends.ts';
import type { Stage } from './stage.ts';

const LARGE = 1_000_000;
const CHANNELS = 100;
/** Longest accepted duration of a search, in milliseconds. */
const ALLOWED_MS = 200;
/**
 * Words in the messages: in all of them (`EVERYWHERE`), only in those outside of the searched channels and conversations
 * (`ELSEWHERE`), and in none (`NOWHERE`).
 */
const [EVERYWHERE, ELSEWHERE, NOWHERE] = ['organization', 'harbour', 'xylophone'];
const SEARCHES = [EVERYWHERE, ELSEWHERE, NOWHERE, `${EVERYWHERE} ${NOWHERE}`, `${EVERYWHERE} ${ELSEWHERE}`];

type Narrow = Readonly<Record<string, unknown>>;

/**
 * Measures searches in an organization with a million messages, for common and rare words, from the newest and from the oldest
 * message. Row "r" of the report.
 */
export async function measureSearches(stage: Stage): Promise<Row[]> {
  const size = stage.quick ? LARGE / 10 : LARGE;
  const people = await makeOrganization(stage.service.server, 2);
  const narrows = await fill(stage.db, people, size);
  const client = new Client(stage.url, people.owner);
  const slowest = new Map<string, number>();
  for (const [place, narrow] of Object.entries(narrows)) {
    for (const words of SEARCHES) {
      for (const isNewest of [true, false]) {
        const took = median(await timesOf(client, { narrow, words, isNewest }));
        if (took > (slowest.get(place) ?? 0)) slowest.set(place, took);
      }
    }
  }
  client.close();
  return [
    {
      ...{ id: 'r', unit: 'ms', mark: 1, service: [ALLOWED_MS], yardstick: [Math.max(...slowest.values())] },
      what: `a page of a search among ${size.toLocaleString('en')} messages: limit of ${ALLOWED_MS} ms against the slowest`,
      facts: Object.fromEntries([...slowest].map(([place, took]) => [place, `${took.toFixed(0)} ms at most`])),
    },
  ];
}

/** Returns the durations of repeated runs of a search, in milliseconds. Omits the first run, which fills caches. */
async function timesOf(
  client: Client,
  { narrow, words, isNewest }: { narrow: Narrow; words: string; isNewest: boolean },
): Promise<number[]> {
  const terms = Object.entries({ ...narrow, search: words }).map(([operator, operand]) => ({ operator, operand }));
  const [num_before, num_after] = isNewest ? [50, 0] : [0, 50];
  const took: number[] = [];
  for (let i = 0; i < 6; i++) {
    const startedAt = performance.now();
    await client.ask('GET', '/messages', {
      ...{ anchor: isNewest ? 'newest' : 'oldest', num_before, num_after },
      narrow: terms,
    });
    if (i > 0) took.push(performance.now() - startedAt);
  }
  return took;
}

/**
 * Inserts messages directly into the database. A tenth of them is in one channel; a quarter of those is in one topic. A
 * twentieth is in one direct conversation, and one sender sent a tenth. These messages do not contain the word `ELSEWHERE`.
 *
 * @returns The narrows in which the owner searches.
 */
async function fill(
  db: Stage['db'],
  { organizationId, owner, members }: OtherOrganization,
  size: number,
): Promise<Readonly<Record<string, Narrow>>> {
  const [writer, other] = members as [OtherOrganization['owner'], OtherOrganization['owner']];
  const channels = await db.query<{ id: number }>(
    `INSERT INTO channel (realm_id, name) SELECT $1, 'channel ' || i FROM generate_series(1, $2::int) AS i RETURNING id`,
    [organizationId, CHANNELS],
  );
  const channelIds = channels.rows.map(({ id }) => id);
  const [channel = 0] = channelIds;
  for (const channelId of channelIds) await subscribe({ db }, { organizationId, channelId }, [owner.userId]);
  const memberIds = [owner.userId, writer.userId].sort((a, b) => a - b);
  const conversations = await db.query<{ id: number }>(
    `WITH made AS (INSERT INTO conversation (realm_id, member_ids) VALUES ($1, $2) RETURNING id), joined AS (
       INSERT INTO conversation_member (realm_id, user_id, conversation_id)
       SELECT $1, user_id, made.id FROM made, unnest($2::int[]) AS user_id)
     SELECT id FROM made`,
    [organizationId, memberIds],
  );
  await db.query(
    `INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, conversation_id, topic, content,
                          rendered_content, client_name, sent_at, sent_event_id, send_token)
     SELECT $1, nextval('message_id_seq'), CASE WHEN kind = 'by writer' THEN $2::int ELSE $3::int END, c.id, c.id,
            CASE WHEN kind = 'direct' THEN $4::int END,
            CASE kind WHEN 'topic' THEN 'long' WHEN 'direct' THEN '' ELSE 'topic ' || i % 40 END,
            t.content, '<p>' || t.content || '</p>', 'bench', now() - ($7::int - i) * interval '10 seconds', i, i
     FROM generate_series(1, $7::int) AS i,
          LATERAL (SELECT CASE WHEN i % 40 = 0 THEN 'topic' WHEN i % 40 < 4 THEN 'channel' WHEN i % 40 < 6 THEN 'direct'
                               WHEN i % 40 < 10 THEN 'by writer' ELSE 'other' END AS kind) AS k,
          LATERAL (SELECT CASE WHEN kind IN ('topic', 'channel') THEN ($5::int[])[1]
                               WHEN kind <> 'direct' THEN ($5::int[])[2 + i % ($6::int - 1)] END AS id) AS c,
          LATERAL (SELECT 'Message ' || i || ' of the organization, about as long as people write them' ||
                          CASE WHEN kind = 'other' THEN ' at the harbour.' ELSE ' at sea.' END AS content) AS t`,
    [organizationId, writer.userId, other.userId, conversations.rows[0]?.id, channelIds, CHANNELS, size],
  );
  await db.query('UPDATE event_counter SET last_id = $2 WHERE realm_id = $1', [organizationId, size]);
  await tallyMessages(db, organizationId);
  await indexHistory(db, organizationId);
  await db.query('VACUUM ANALYZE');
  return {
    'a channel': { channel },
    'a topic': { channel, topic: 'long' },
    'a sender': { sender: writer.userId },
    'a sender in a channel': { channel, sender: writer.userId },
    'a direct conversation': { dm: [writer.userId] },
    'direct messages': { is: 'dm' },
    'direct messages with a user': { 'dm-including': writer.userId },
    'public channels': { channels: 'public' },
    'a topic in any channel': { topic: 'long' },
    'a rare topic in any channel': { topic: 'rare' },
    'messages with links': { has: 'link' },
    'messages with reactions': { has: 'reaction' },
    'resolved topics': { is: 'resolved' },
    'starred messages': { is: 'starred' },
    mentions: { is: 'mentioned' },
    'unread messages': { is: 'unread' },
    'received messages': {},
  };
}
