import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { percentile } from '../bench/measure.ts';
import { type Ground, makeChannel, sendRequest, subscribe } from '../bench/sends.ts';
import { type BenchUser, makeAccounts } from '../bench/stage.ts';
import { makeNeighbour, type Person, personOf, startDemo } from './demo.ts';
import { addUp, longestBetween } from './felt.ts';
import {
  brokenBy,
  compareSent,
  endsOf,
  faredIn,
  ms,
  Neighbours,
  neighbourFigures,
  SequentialSender,
  type Spell,
  type WatchedTrial,
} from './neighbours.ts';
import { type Outcome, some } from './outcome.ts';
import { PlainWork } from './plain-work.ts';
import { Client } from './requests.ts';
import { compare, type Planned, wordsOf } from './scheduled.ts';
import { openDatabase, withDatabase } from './truth.ts';

/** Number of users who each have scheduled messages that are due. */
const OWNERS = 100;
/** Number of messages that another organization has scheduled for the same second. */
const NEIGHBOURS_DUE = 20;
/** Time from the start of scheduling to the due time, in milliseconds. It is longer than the scheduling takes. */
const LEAD_MS = 15_000;
/** Timeout for sending all due messages, in milliseconds. The last of them are sent long after they are due. */
const CATCH_UP_MS = 240_000;
/** Longest accepted delay of the other organization's messages, in milliseconds. */
const MAX_DELAY_MS = 5_000;
/** Longest accepted time, in milliseconds, without a successful send to the organization whose messages are due. */
const MAX_SILENCE_MS = 2_500;
/** Number of clients that send messages as the baseline (`PlainWork`), and longest duration of a baseline in seconds. */
const PLAIN_CLIENTS = 4;
const MOST_PLAIN_SECONDS = 20;
/**
 * Number of concurrent senders to the organization whose messages are due, and pause between two sends of a sender, in
 * milliseconds.
 */
const [SENDERS, PAUSE_MS] = [3, 50];

interface Due {
  readonly count: number;
  readonly dueAt: number;
}

/**
 * Inserts scheduled messages that are all due in one second. Writes directly to the database, because the request that
 * schedules a message is not tested. Every fourth message is a direct message.
 */
async function scheduleMany(
  db: pg.Client,
  { organizationId, channelId }: Ground,
  owners: readonly BenchUser[],
  { count, dueAt }: Due,
): Promise<Planned[]> {
  const { rows } = await db.query<{ id: number; owner_id: number; number: number }>(
    `INSERT INTO scheduled_message (realm_id, owner_id, channel_id, recipient_ids, topic, content, rendered_content,
                                    scheduled_at, client_name)
     SELECT $1, o.ids[1 + n % cardinality(o.ids)], CASE WHEN n % 4 = 0 THEN NULL ELSE $2::int END,
            CASE WHEN n % 4 = 0 THEN ARRAY[o.ids[1 + (n + 1) % cardinality(o.ids)]] ELSE '{}' END,
            CASE WHEN n % 4 = 0 THEN '' ELSE 'topic ' || n % 9 END, w.words, '<p>' || w.words || '</p>', to_timestamp($4), 'trial'
     FROM (SELECT $3::int[] AS ids) AS o, unnest($5::text[]) WITH ORDINALITY AS w(words, place),
          LATERAL (SELECT w.place::int - 1 AS n) AS p
     ORDER BY n RETURNING id, owner_id, substring(content FROM '\\d+')::int AS number`,
    [organizationId, channelId, owners.map(({ id }) => id), dueAt, Array.from({ length: count }, (_, n) => wordsOf(n))],
  );
  await db.query('VACUUM ANALYZE scheduled_message');
  return rows.map(({ id, owner_id, number }) => ({ number, id, ownerId: owner_id, isMoved: false, isDoomed: false }));
}

/** Schedules messages of the other organization. @param options.first Number of the first message. */
async function scheduleFew(
  url: string,
  person: Person,
  { to, first, dueAt }: { readonly to: number; readonly first: number; readonly dueAt: number },
): Promise<Planned[]> {
  const client = new Client(url, person);
  const planned: Planned[] = [];
  for (let number = first; number < first + NEIGHBOURS_DUE; number++) {
    const message = { type: 'channel', to, topic: 'due', content: wordsOf(number) };
    const made = await client.ask('POST', '/scheduled_messages', { ...message, scheduled_delivery_timestamp: dueAt });
    planned.push({
      ...{ number, id: made.scheduled_message_id, ownerId: person.userId },
      ...{ isMoved: false, isDoomed: false },
    });
  }
  client.close();
  return planned;
}

/** Waits until all messages due at `dueAt` are sent. @returns False if that takes longer than `CATCH_UP_MS`. */
async function untilSent(db: pg.Client, dueAt: number): Promise<boolean> {
  const deadline = performance.now() + CATCH_UP_MS;
  while (performance.now() < deadline) {
    const { rows } = await db.query(
      `SELECT FROM scheduled_message WHERE state = 'scheduled' AND scheduled_at <= to_timestamp($1) LIMIT 1`,
      [dueAt],
    );
    if (rows.length === 0) return true;
    await sleep(250);
  }
  return false;
}

/**
 * Returns the longest time without a send during a period, and the 95th percentile of the durations of its sends. Both in
 * milliseconds.
 */
function sendsIn(
  { since, until }: Spell,
  senders: readonly SequentialSender[],
): { readonly gap: number; readonly took: number } {
  const moments = senders.flatMap(({ acknowledgedAt }) => acknowledgedAt);
  return {
    gap: longestBetween([...moments.filter((at) => at < until), until], since),
    took: percentile(
      senders.flatMap((sender) => sender.took),
      95,
    ),
  };
}

/**
 * Makes very many messages of one organization due in the same second. Each must be sent once, not early, and must not be
 * marked as failed for being late. Meanwhile, clients must be able to send to the organization. Messages of another
 * organization that are due in the same second must not wait for them. The load may slow down clients of that organization only
 * as much as plain sends that use the same CPU time of the node.
 */
export async function dueTrial({
  databaseServer,
  messages,
  isTimed,
}: Omit<WatchedTrial, 'seconds'> & { readonly messages: number }): Promise<Outcome> {
  await using service = await startDemo(databaseServer);
  const { url, port } = service.server;
  const db = await openDatabase(service);
  const owners = await makeAccounts(db, 'due', OWNERS);
  const ground = await makeChannel({ db, users: owners }, 'due');
  await subscribe(
    { db },
    ground,
    owners.map(({ id }) => id),
  );
  const neighbour = await makeNeighbour(service.server);
  const neighbours = await Neighbours.start(url, neighbour);
  const senders: SequentialSender[] = [];
  while (senders.length < SENDERS) senders.push(await SequentialSender.start(url, personOf(service.people, 'owner')));

  // The service sends the due messages of this number of owners concurrently, so the baseline has as many clients.
  const requests = owners
    .slice(0, PLAIN_CLIENTS)
    .map(({ basic }) => sendRequest(port, basic, { channelId: ground.channelId, topic: 'due' }));
  await using plain = new PlainWork(service.server, requests);

  const dueAt = Math.ceil((Date.now() + LEAD_MS) / 1_000);
  const planned = await scheduleMany(db, ground, owners, { count: messages, dueAt });
  const plannedByNeighbours = await scheduleFew(url, neighbour, {
    ...{ to: neighbours.senders[0]?.channelId ?? 0, first: messages, dueAt },
  });
  if (Date.now() >= dueAt * 1_000) throw new Error('The messages were due before the trial was ready');
  await sleep(dueAt * 1_000 - Date.now());
  let isOver = false;
  const sending = senders.map((sender) => sender.until(() => isOver, { pauseMs: PAUSE_MS }));
  let isComplete = false;
  const { meanwhile, taken } = await plain.weigh(neighbours, async () => {
    isComplete = await untilSent(db, dueAt);
  });
  const { gap, took } = sendsIn(meanwhile, senders);
  const seconds = Math.min(taken.seconds, MOST_PLAIN_SECONDS);
  const before = await neighbours.during(plain.asMuch(taken, seconds));
  const besideAsMany = await neighbours.during(plain.asMany(messages / taken.seconds, seconds));
  const fared = faredIn([before], [meanwhile]);
  isOver = true;
  await Promise.all(sending);

  for (const one of [...senders, neighbours]) one.close();
  await db.end();
  const found = await withDatabase(service, async (query) => ({
    hit: await compare(query, planned),
    neighbours: await compare(query, plannedByNeighbours),
    sent: await compareSent(query, [...senders, ...neighbours.senders]),
  }));
  const after = (sentAt: readonly number[]) => (sentAt.at(-1) ?? Number.POSITIVE_INFINITY) - dueAt * 1_000;
  const behind = after(found.neighbours.sentAt);
  const failures = senders.flatMap((sender) => sender.failures);
  const fault = `${messages.toLocaleString('en')} scheduled messages due at once`;
  return {
    trial: fault,
    facts: {
      ...{ sent: found.hit.sentAt.length, failed: found.hit.failed },
      'all sent within': `${(after(found.hit.sentAt) / 1_000).toFixed(1)} s`,
      "the neighbours' sent within": ms(behind),
      'CPU of the node per message': `${((1_000 * taken.cpuSeconds) / messages).toFixed(1)} ms`,
      ...neighbourFigures(neighbours, fared),
      "neighbours' p95 beside as many messages sent by clients": ms(faredIn([besideAsMany], [meanwhile]).before),
      'sends to the organization meanwhile': endsOf(senders).toString(),
      'their p95': `${ms(took)}, longest time without one ${ms(gap)}`,
    },
    violations: [
      ...(isComplete ? [] : [`not all messages were sent within ${CATCH_UP_MS / 1_000} s`]),
      ...(planned.length === messages ? [] : [`${planned.length} of ${messages} were scheduled`]),
      ...found.hit.violations,
      ...found.neighbours.violations,
      ...(isTimed && behind > MAX_DELAY_MS ? [`neighbours' messages were sent ${ms(behind)} late`] : []),
      ...(isTimed && gap > MAX_SILENCE_MS ? [`no send to the organization for ${ms(gap)}`] : []),
      ...(failures.length > 0 ? [`sends to the organization failed: ${some(failures)}`] : []),
      ...brokenBy(found.sent),
      ...neighbours.complaints(fared, { isTimed }),
    ],
    felt: [{ fault, ...addUp([found.hit.broken, found.neighbours.broken, found.sent]), gap, neighbours: fared }],
  };
}
