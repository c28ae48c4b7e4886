import type pg from 'pg';
import { seeded } from '../faults/random.ts';
import { runCommand } from '../helpers/control.ts';
import { indexHistory, tallyMessages } from './backlog.ts';
import { assumed, drawText, drawTopic, type Plan, pickChannel } from './day-model.ts';
import { type BenchUser, giveKeys } from './stage.ts';

const SUBDOMAIN = 'day';
const PASSWORD = 'a working day of many people';
/** Id of the last event in the log before the simulation. The ids before it are free, so that older events can be inserted. */
export const LOG_START = 2_000_000;
/** Number of working days of messages in the database before the simulation, and the maximum number of these messages. */
const [HISTORY_DAYS, MAX_HISTORY] = [2, 200_000];
/** Part of these messages that is unread in the morning. */
const UNREAD = 0.05;
/** Number of messages that one statement inserts. */
const AT_ONCE = 5_000;

/** The simulated organization. People and channels are in the order of the plan. */
export interface DayOrganization {
  readonly organizationId: number;
  readonly subdomain: string;
  readonly people: readonly BenchUser[];
  readonly emails: readonly string[];
  /** Password of all people. */
  readonly password: string;
  readonly channelIds: readonly number[];
}

/** Creates the organization of a plan on a running service, with the messages of two days. */
export async function fillDayOrganization(
  db: pg.Client,
  dataDir: string,
  plan: Plan,
  seed: number,
): Promise<DayOrganization> {
  const owner = { name: 'Person 0', role: 'owner', email: emailAt(0), password: PASSWORD };
  const { realm_id: organizationId } = (await runCommand(dataDir, 'org create', {
    ...{ subdomain: SUBDOMAIN, name: 'A working day', people: [owner] },
  })) as { realm_id: number };
  const accounts = await makePeople(db, organizationId, plan.people.length);
  const ids = accounts.map(({ id }) => id);
  const channelIds = await makeChannels(db, organizationId, plan);
  await subscribeAll(db, organizationId, { plan, ids, channelIds });
  await makeHistory(db, organizationId, { plan, ids, channelIds, seed });
  await tallyMessages(db, organizationId);
  await indexHistory(db, organizationId);
  await db.query('VACUUM ANALYZE');
  return {
    ...{ organizationId, subdomain: SUBDOMAIN, password: PASSWORD, channelIds },
    ...{ people: accounts, emails: accounts.map((_, i) => emailAt(i)) },
  };
}

const emailAt = (index: number) => `person${index}@${SUBDOMAIN}.example`;

/** Creates all people but the owner, with the password of the owner, API keys and a presence. @returns All, by index. */
async function makePeople(db: pg.Client, organizationId: number, count: number): Promise<BenchUser[]> {
  await db.query(
    `INSERT INTO user_account (realm_id, email, full_name, avatar_source, joined_at, password_hash)
     SELECT $1::int, 'person' || i || '@' || $3::text || '.example', 'Person ' || i, 'J', now(), o.password_hash
     FROM generate_series(1, $2::int - 1) AS i,
          (SELECT password_hash FROM user_account WHERE realm_id = $1 AND email = 'person0@' || $3 || '.example') AS o`,
    [organizationId, count, SUBDOMAIN],
  );
  await db.query(
    `INSERT INTO presence (user_id, realm_id, active_at, idle_at, update_id)
     SELECT id, $1, now() - interval '14 hours', now() - interval '14 hours', row_number() OVER (ORDER BY id)
     FROM user_account WHERE realm_id = $1 AND bot_type IS NULL`,
    [organizationId],
  );
  await db.query(
    `INSERT INTO presence_counter (realm_id, last_id) VALUES ($1, $2) ON CONFLICT (realm_id) DO UPDATE SET last_id = $2`,
    [organizationId, count],
  );
  const { rows } = await db.query<{ id: number; email: string }>(
    `SELECT id, email FROM user_account WHERE realm_id = $1 AND email LIKE 'person%' AND bot_type IS NULL ORDER BY id`,
    [organizationId],
  );
  await db.query('DELETE FROM api_key WHERE realm_id = $1', [organizationId]);
  return giveKeys(db, rows);
}

async function makeChannels(db: pg.Client, organizationId: number, { channels }: Plan): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>(
    `INSERT INTO channel (realm_id, name, description, rendered_description)
     SELECT $1, name, 'About ' || name, '<p>About ' || name || '</p>' FROM unnest($2::text[]) WITH ORDINALITY AS n(name, place)
     ORDER BY place RETURNING id`,
    [organizationId, channels.map(({ kind }, i) => `${kind} ${i}`)],
  );
  return rows.map(({ id }) => id);
}

interface Ground {
  readonly plan: Plan;
  readonly ids: readonly number[];
  readonly channelIds: readonly number[];
}

async function subscribeAll(db: pg.Client, organizationId: number, { plan, ids, channelIds }: Ground): Promise<void> {
  const pairs = plan.channels.flatMap(({ members }, channel) =>
    members.map((person) => [ids[person], channelIds[channel]]),
  );
  await db.query(
    `WITH joined AS (
       INSERT INTO subscription (realm_id, user_id, channel_id, color)
       SELECT $1, user_id, channel_id, '#76ce90' FROM unnest($2::int[], $3::int[]) AS p(user_id, channel_id)
       RETURNING user_id, channel_id)
     INSERT INTO subscription_period (realm_id, user_id, channel_id, began_event_id)
     SELECT $1, user_id, channel_id, 0 FROM joined`,
    [organizationId, pairs.map(([userId]) => userId), pairs.map(([, channelId]) => channelId)],
  );
}

async function makeHistory(
  db: pg.Client,
  organizationId: number,
  { plan, ids, channelIds, seed }: Ground & { readonly seed: number },
): Promise<void> {
  const random = seeded(seed);
  const size = Math.min(MAX_HISTORY, Math.round(HISTORY_DAYS * assumed('messages') * ids.length));
  const pairs = new Map<string, readonly [number, number]>();
  const drawn = Array.from({ length: size }, () => {
    const sender = Math.floor(random() * ids.length);
    const person = plan.people[sender];
    const mates = person?.mates ?? [];
    if (person === undefined || (mates.length > 0 && random() < assumed('direct') + assumed('group'))) {
      const mate = mates[Math.floor(random() * random() * mates.length)] ?? 0;
      const pair = [Math.min(sender, mate), Math.max(sender, mate)] as const;
      pairs.set(pair.join(), pair);
      return { sender, channel: null, pair: pair.join(), topic: '', content: drawText(random) };
    }
    return {
      sender,
      channel: pickChannel(person, random),
      pair: null,
      topic: drawTopic(random),
      content: drawText(random),
    };
  });
  const conversations = await makeConversations(db, organizationId, { pairs: [...pairs.values()], ids });
  for (let i = 0; i < size; i += AT_ONCE) {
    const part = drawn.slice(i, i + AT_ONCE);
    await db.query(
      `INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, conversation_id, topic, content,
                            rendered_content, client_name, sent_at, sent_event_id, read_by_sender, send_token)
       SELECT $1, nextval('message_id_seq'), sender_id, channel_id, channel_id, conversation_id, topic, content,
              '<p>' || content || '</p>', 'bench', now() - ($7::int - place) * interval '2 days' / $7::int, $8::int + place, true,
              $8::int + place
       FROM unnest($2::int[], $3::int[], $4::int[], $5::text[], $6::text[])
            WITH ORDINALITY AS m(sender_id, channel_id, conversation_id, topic, content, place) ORDER BY place`,
      [
        organizationId,
        part.map(({ sender }) => ids[sender]),
        part.map(({ channel }) => (channel === null ? null : channelIds[channel])),
        part.map(({ pair }) => (pair === null ? null : conversations.get(pair))),
        part.map(({ topic }) => topic),
        part.map(({ content }) => content),
        ...[size, i],
      ],
    );
  }
  await db.query(
    `WITH read AS (
       SELECT id AS through FROM message WHERE realm_id = $1 ORDER BY id OFFSET $2 LIMIT 1),
     places AS (
       SELECT user_id, channel_id::bigint * 2 AS recipient_id FROM subscription WHERE realm_id = $1
       UNION ALL SELECT user_id, conversation_id::bigint * 2 + 1 FROM conversation_member WHERE realm_id = $1)
     INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
     SELECT $1, user_id, recipient_id, through FROM places, read`,
    [organizationId, Math.floor(size * (1 - UNREAD))],
  );
  await db.query('UPDATE event_counter SET last_id = $2 WHERE realm_id = $1', [organizationId, LOG_START]);
}

/** Creates conversations of two people. @returns Their ids, by the indexes of both people. */
async function makeConversations(
  db: pg.Client,
  organizationId: number,
  { pairs, ids }: { readonly pairs: readonly (readonly [number, number])[]; readonly ids: readonly number[] },
): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: number; member_ids: [number, number] }>(
    `WITH made AS (
       INSERT INTO conversation (realm_id, member_ids)
       SELECT $1, ARRAY[low, high] FROM unnest($2::int[], $3::int[]) AS p(low, high) RETURNING id, member_ids),
     joined AS (
       INSERT INTO conversation_member (realm_id, user_id, conversation_id)
       SELECT $1, user_id, id FROM made, unnest(member_ids) AS user_id)
     SELECT id, member_ids FROM made`,
    [organizationId, pairs.map(([low]) => ids[low]), pairs.map(([, high]) => ids[high])],
  );
  const indexes = new Map(ids.map((id, index) => [id, index]));
  return new Map(rows.map(({ id, member_ids }) => [member_ids.map((userId) => indexes.get(userId)).join(), id]));
}
