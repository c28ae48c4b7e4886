import type { Prisma } from '../../src/generated/prisma/client.ts';
import { readUnread } from '../../src/messages/flags/unread.ts';
import { countUnreadInTopics, countUnreadOfEach } from '../../src/messages/flags/unread-counts.ts';
import type { SqlClient } from '../../src/platform/db/client.ts';
import { runCommand } from '../helpers/control.ts';
import { median } from './measure.ts';
import type { Row } from './report.ts';
import type { Stage } from './stage.ts';

const UNREAD = 150_000;
const READ = 28_000;
/** Longest accepted execution time of the SQL statement that counts unread messages, in milliseconds. */
const ALLOWED_MS = 3;

/**
 * Measures how long it takes to count the unread messages of a user with a large backlog, in 50 and in 300 channels. Rows "n"
 * of the report.
 */
export async function measureBacklog(stage: Stage): Promise<Row[]> {
  const rows: Row[] = [];
  for (const channels of [50, 300]) rows.push(await measureAmong(stage, channels));
  return rows;
}

async function measureAmong(stage: Stage, channels: number): Promise<Row> {
  const { db, quick } = stage;
  const holder = await makeOrganization(stage, channels);
  const { organizationId, userId, channelIds } = holder;
  const topics = channelIds.slice(0, 10).flatMap((channelId) =>
    ['topic 1', 'topic 2', 'topic 3', 'topic 4', 'topic 5'].map((topic) => ({
      ...{ userId, channelId, conversationId: null, topic },
    })),
  );
  const times = quick ? 50 : 300;
  const took = (name: string, read: (db: SqlClient) => Promise<unknown>, count = times) =>
    timesOf(db, `${name}${channels}`, read, count);
  const counting = await took('count', (client) => countUnreadOfEach(client, organizationId, [userId]));
  const inTopics = await took('topics', (client) => countUnreadInTopics(client, organizationId, topics));
  const gathering = await took('gather', (client) => readUnread(client, { organizationId, userId }), 9);
  const found = await countUnreadOfEach(clientOf(db, `found${channels}`), organizationId, [userId]);
  const facts = {
    counted: (found.get(userId) ?? []).reduce((sum, { count }) => sum + count, 0),
    'in 50 topics': `${median(inTopics).toFixed(1)} ms`,
    'the newest 50,000 with their ids, as over REST': `${median(gathering).toFixed(0)} ms`,
  };
  return {
    ...{ id: 'n', unit: 'ms', mark: 1, facts },
    what: `${UNREAD.toLocaleString('en')} unread messages in ${channels} channels, counted: limit of ${ALLOWED_MS} ms of SQL against the measured time`,
    service: counting.map(() => ALLOWED_MS),
    yardstick: counting,
  };
}

/** Returns a client that gives each prepared statement a fixed name, as the service does. */
function clientOf(db: Stage['db'], name: string): SqlClient {
  let n = 0;
  const names = new Map<string, string>();
  return {
    async $queryRaw({ text, values }: Prisma.Sql) {
      const known = names.get(text) ?? `${name}_${n++}`;
      names.set(text, known);
      return (await db.query({ name: known, text, values })).rows;
    },
  } as unknown as SqlClient;
}

async function timesOf(
  db: Stage['db'],
  name: string,
  read: (client: SqlClient) => Promise<unknown>,
  count: number,
): Promise<number[]> {
  const client = clientOf(db, name);
  const took: number[] = [];
  for (let i = 0; i < count + 6; i++) {
    const startedAt = performance.now();
    await read(client);
    if (i >= 6) took.push(performance.now() - startedAt);
  }
  return took;
}

async function makeOrganization({ db, service }: Stage, channels: number) {
  const subdomain = `backlog${channels}`;
  const made = (await runCommand(service.server.dataDir, 'org create', {
    subdomain,
    name: `Organization of ${channels}`,
    people: [
      { name: 'reader', role: 'owner', email: `reader@${subdomain}.example` },
      { name: 'writer', role: 'member', email: `writer@${subdomain}.example` },
    ],
  })) as { realm_id: number; users: { user_id: number }[] };
  const organizationId = made.realm_id;
  const [userId = 0, senderId = 0] = made.users.map((user) => user.user_id);
  const { rows } = await db.query<{ id: number }>(
    `INSERT INTO channel (realm_id, name) SELECT $1, 'channel ' || i FROM generate_series(1, $2::int) AS i RETURNING id`,
    [organizationId, channels],
  );
  const channelIds = rows.map(({ id }) => id);
  await db.query(
    `WITH joined AS (
       INSERT INTO subscription (realm_id, user_id, channel_id, color, is_muted)
       SELECT $1, $2, id, '#76ce90', id % 10 = 0 FROM unnest($3::int[]) AS id RETURNING channel_id)
     INSERT INTO subscription_period (realm_id, user_id, channel_id, began_event_id) SELECT $1, $2, channel_id, 0 FROM joined`,
    [organizationId, userId, channelIds],
  );
  await db.query(
    `INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content,
                          client_name, sent_at, sent_event_id, send_token)
     SELECT $1, nextval('message_id_seq'), $2, c.id, c.id, 'topic ' || i % 20, t.content, '<p>' || t.content || '</p>',
            'bench', now() - ($4::int - i) * interval '10 seconds', i, i
     FROM generate_series(1, $4::int) AS i,
          LATERAL (SELECT ($3::int[])[1 + (power(hashint4(i)::float / 4294967296 + 0.5, 2) * cardinality($3::int[]))::int
                          % cardinality($3::int[])] AS id) AS c,
          LATERAL (SELECT 'Message ' || i || ' of the organization, about as long as people write them.' AS content) AS t`,
    [organizationId, senderId, channelIds, UNREAD + READ],
  );
  await db.query(
    `INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
     SELECT $1, $2, id::bigint * 2, (SELECT min(m.id) + $4::int FROM message m WHERE m.realm_id = $1)
     FROM unnest($3::int[]) AS id`,
    [organizationId, userId, channelIds, READ - 1],
  );
  await db.query('UPDATE event_counter SET last_id = $2 WHERE realm_id = $1', [organizationId, UNREAD + READ]);
  await tallyMessages(db, organizationId);
  await db.query('VACUUM ANALYZE');
  return { organizationId, userId, channelIds };
}

/**
 * Updates the message counters of an organization, as a background job of the service does a few seconds later. If that job has
 * locked the organization's row, `tally_messages` skips the row. Its result then does not show whether messages remain, so the
 * progress is read from the table.
 */
export async function tallyMessages(db: Stage['db'], organizationId: number): Promise<void> {
  await repeatUntilDone(db, organizationId, {
    step: 'SELECT tally_messages($1, 256)',
    rest: `SELECT EXISTS (SELECT FROM message m JOIN message_tally t ON t.realm_id = m.realm_id AND m.id > t.through_id
                          WHERE m.realm_id = $1) AS more`,
  });
}

/**
 * Indexes the messages of an organization for search, as a background job of the service does. Reads the progress from the
 * table, as `tallyMessages` does.
 */
export async function indexHistory(db: Stage['db'], organizationId: number): Promise<void> {
  await repeatUntilDone(db, organizationId, {
    step: 'SELECT index_messages($1, 1024)',
    rest: `SELECT EXISTS (SELECT FROM message m JOIN search_progress p ON p.realm_id = m.realm_id
                            AND (m.id > p.through_id OR m.id < p.from_id) WHERE m.realm_id = $1) AS more`,
  });
}

/** Repeats the statement `step` until the statement `rest` returns that no messages are left. */
async function repeatUntilDone(
  db: Stage['db'],
  organizationId: number,
  { step, rest }: { step: string; rest: string },
): Promise<void> {
  for (let isMore = true; isMore; ) {
    await db.query(step, [organizationId]);
    const left = await db.query<{ more: boolean }>(rest, [organizationId]);
    isMore = left.rows[0]?.more ?? false;
  }
}
