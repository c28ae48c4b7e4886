import { documentOf, makeSends, USUAL } from './fan-out.ts';
import type { Burst } from './generator.ts';
import { cpuSecondsOf, median } from './measure.ts';
import type { Row } from './report.ts';
import { makeAccounts, makeQueues, type Stage } from './stage.ts';

const READERS = [100, 1_000];
/** Highest accepted cost of an event with counts, relative to the same event without. */
const MAX_COST = 1.5;
const BURST = 40;
const IN_FLIGHT = 4;

/** Other channels of each reader, with messages of which two thirds are unread. */
const OTHERS = { channels: 100, messagesEach: 12 } as const;

const LEAN = documentOf(USUAL, 'localId');
const WITH_COUNTS = documentOf(
  USUAL,
  `localId unreadChange { counts { id total conversations mentions }
    subscriptions { id unreadCount unreadMentionCount } topics { id unreadCount unreadMentionCount } }`,
);

/** Readers of one channel, each a user of their own, and the document that they subscribe with. */
interface Side {
  readonly set: string;
  readonly take: (count: number) => Buffer[];
  readonly alone: number[];
  readonly burst: number[];
  readonly cpu: number[];
  readonly databaseCpu: number[];
  sample: string;
}

/**
 * Measures events that carry the unread counts of each reader, against the same events without counts. Rows "s" of the report.
 */
export async function measureCounts(stage: Stage): Promise<Row[]> {
  const rows: Row[] = [];
  for (const count of READERS) rows.push(...(await measureAmong(stage, count)));
  return rows;
}

async function measureAmong(stage: Stage, count: number): Promise<Row[]> {
  const { generator, quick } = stage;
  const lean = await makeSide(stage, `lean ${count}`, count, LEAN);
  const counting = await makeSide(stage, `counts ${count}`, count, WITH_COUNTS);
  await stage.db.query('VACUUM ANALYZE');
  const [warmUp, rounds, alone] = quick ? [1, 5, 9] : [2, 11, 15];
  for (let i = 0; i < warmUp + rounds; i++) {
    for (const side of [lean, counting]) await runRound(stage, side, { count, alone, isWarmUp: i < warmUp });
  }
  for (const { set } of [lean, counting]) await generator.ask('close', { set });
  const what = `a message with counts to ${count.toLocaleString('en')} readers`;
  const row = (said: string, unit: string, of: (side: Side) => readonly number[], facts: Row['facts']): Row => ({
    ...{ id: 's', what: said, unit, facts, mark: 1 / MAX_COST },
    ...{ service: of(lean), yardstick: of(counting) },
  });
  const perMessage = ({ databaseCpu }: Side) => `${median(databaseCpu).toFixed(2)} ms`;
  return [
    row(
      `${what}, from the request to the last delivery: without counts, against with counts`,
      'ms',
      (side) => side.alone,
      {
        'with counts': counting.sample,
        'without counts': lean.sample,
      },
    ),
    row(`the same, for each message of a burst of ${BURST}, ${IN_FLIGHT} in flight`, 'ms', (side) => side.burst, {}),
    row('the same, CPU of the service for each delivery', 'µs', (side) => side.cpu, {
      'CPU of PostgreSQL for each message': `${perMessage(lean)} without, ${perMessage(counting)} with counts`,
    }),
  ];
}

async function makeSide(stage: Stage, set: string, count: number, query: string): Promise<Side> {
  const { generator, port, db } = stage;
  const users = await makeAccounts(db, `${set.replace(' ', '-')}-`, count);
  const take = await makeSends(stage, users);
  await fillSidebars(
    stage,
    users.map(({ id }) => id),
  );
  const subscribers = await makeQueues({ ...stage, users }, count);
  await generator.ask('listen', { set, port, query, subscribers });
  return { set, take, alone: [], burst: [], cpu: [], databaseCpu: [], sample: '' };
}

/** Subscribes users to further channels with messages, some of which they have read. */
async function fillSidebars({ db, owner }: Stage, userIds: readonly number[]): Promise<void> {
  const { channels, messagesEach } = OTHERS;
  const name = `sidebar ${userIds[0]}`;
  const { rows } = await db.query<{ id: number; realm_id: number }>(
    `INSERT INTO channel (realm_id, name, topics_policy)
     SELECT realm_id, $2 || ' ' || n, 'inherit' FROM user_account, generate_series(1, $3::int) AS n WHERE id = $1
     RETURNING id, realm_id`,
    [userIds[0], name, channels],
  );
  const channelIds = rows.map(({ id }) => id);
  const organizationId = rows[0]?.realm_id;
  await db.query(
    `WITH joined AS (
       INSERT INTO subscription (realm_id, user_id, channel_id, color, is_muted)
       SELECT $1, u, c, '#76ce90', c % 10 = 0 FROM unnest($2::int[]) AS u, unnest($3::int[]) AS c RETURNING user_id, channel_id)
     INSERT INTO subscription_period (realm_id, user_id, channel_id, began_event_id)
     SELECT $1, user_id, channel_id, 1 FROM joined`,
    [organizationId, userIds, channelIds],
  );
  await db.query(
    `INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content,
                          client_name, sent_at, sent_event_id, send_token)
     SELECT $1, nextval('message_id_seq'), $2, c, c, 'topic ' || n % 4, 'hello', '<p>hello</p>', 'bench', now(), 1, 1
     FROM generate_series(1, $4::int) AS n, unnest($3::int[]) AS c ORDER BY n`,
    [organizationId, owner.userId, channelIds, messagesEach],
  );
  await db.query(
    `INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
     SELECT $1, u, c::bigint * 2, (SELECT id FROM message WHERE channel_id = c ORDER BY id OFFSET (u + c) % $4::int LIMIT 1)
     FROM unnest($2::int[]) AS u, unnest($3::int[]) AS c WHERE (u + c) % 3 > 0`,
    [organizationId, userIds, channelIds, messagesEach],
  );
}

async function runRound(
  stage: Stage,
  side: Side,
  { count, alone, isWarmUp }: { readonly count: number; readonly alone: number; readonly isWarmUp: boolean },
): Promise<void> {
  const { generator, port } = stage;
  const send = (messages: number, inFlight: number): Promise<Burst> =>
    generator.ask('burst', { port, triggers: side.take(messages), inFlight, expected: messages * count });
  const took: number[] = [];
  while (took.length < alone) {
    const burst = await send(1, 1);
    side.sample ||= burst.sample;
    took.push(burst.wholeMs);
  }
  const before = { cpu: stage.cpu(), database: await databaseCpu(stage) };
  const burst = await send(BURST, IN_FLIGHT);
  const after = { cpu: stage.cpu(), database: await databaseCpu(stage) };
  if (isWarmUp) {
    if (took[0] !== undefined) console.log(`${side.set}: ${took.map((ms) => ms.toFixed(1)).join(' ')} ms`);
    return;
  }
  side.alone.push(median(took));
  side.burst.push(burst.wholeMs / BURST);
  side.cpu.push(((after.cpu - before.cpu) / burst.deliveries) * 1e6);
  side.databaseCpu.push(((after.database - before.database) / BURST) * 1e3);
}

/** Returns the CPU time that the server processes of the service's connections have used so far, in seconds. */
async function databaseCpu({ db }: Pick<Stage, 'db'>): Promise<number> {
  const { rows } = await db.query<{ pid: number }>(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  return rows.reduce((sum, { pid }) => sum + cpuSecondsOf(pid), 0);
}
