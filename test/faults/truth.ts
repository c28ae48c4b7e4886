import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import pg from 'pg';
import type { DemoService } from './demo.ts';
import { addUp, type Broken, disorderedEventsOf } from './felt.ts';
import type { Listener } from './listeners.ts';
import { isToken, type Writer } from './load.ts';
import { some, without } from './outcome.ts';

/** Events and rows of one user, read directly from the database. */
interface Truth {
  /** All events that the user should have received, in order. */
  readonly events: readonly LoggedEvent[];
  readonly drafts: ReadonlyMap<number, string>;
  readonly snippets: ReadonlyMap<number, string>;
  /** Messages that the user sent. */
  readonly messages: ReadonlyMap<number, string>;
  /** Color of the user's subscription, by channel. */
  readonly colors: ReadonlyMap<number, string>;
}

interface LoggedEvent {
  readonly id: number;
  readonly type: string;
  readonly op: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: payloads of many kinds, read as they come
  readonly payload: any;
}

/** Runs a query directly on the database. */
export type Query = (sql: string, values: unknown[]) => Promise<Record<string, unknown>[]>;

/** Opens a direct connection to PostgreSQL. */
export async function openDatabase({ databaseUrl }: Pick<DemoService, 'databaseUrl'>): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  return client;
}

/** Reads directly from the database. If it is embedded, the server must have stopped. */
export async function withDatabase<T>(
  { databaseUrl, server }: DemoService,
  read: (query: Query) => Promise<T>,
): Promise<T> {
  if (databaseUrl === undefined) {
    const embedded = await PGlite.create(join(server.dataDir, 'postgres'));
    try {
      return await read(async (sql, values) => (await embedded.query<Record<string, unknown>>(sql, values)).rows);
    } finally {
      await embedded.close();
    }
  }
  const client = await openDatabase({ databaseUrl });
  try {
    return await read(async (sql, values) => (await client.query<Record<string, unknown>>(sql, values)).rows);
  } finally {
    await client.end();
  }
}

async function readTruth(query: Query, userId: number): Promise<Truth> {
  const rows = (sql: string) => query(sql, [userId]);
  const events = await rows(
    `SELECT e.id::int AS id, e.type, e.op, e.payload FROM event e JOIN user_account u ON u.realm_id = e.realm_id
     WHERE u.id = $1 AND NOT u.id = ANY(e.except_user_ids) AND (e.max_role >= u.role OR u.id = ANY(e.user_ids)
       -- Subscriptions do not change during a trial.
       OR e.channel_ids && ARRAY(SELECT s.channel_id FROM subscription s WHERE s.user_id = u.id))
     ORDER BY e.id`,
  );
  const pairs = async (sql: string) => new Map((await rows(sql)).map(({ key, value }) => [Number(key), String(value)]));
  return {
    events: events as unknown as LoggedEvent[],
    drafts: await pairs('SELECT id AS key, content AS value FROM draft WHERE author_id = $1'),
    snippets: await pairs('SELECT id AS key, content AS value FROM saved_snippet WHERE author_id = $1'),
    messages: await pairs('SELECT id AS key, content AS value FROM message WHERE sender_id = $1'),
    colors: await pairs('SELECT channel_id AS key, color AS value FROM subscription WHERE user_id = $1'),
  };
}

/** The changes of a writer. */
type Written = Pick<Writer, 'client' | 'acknowledged' | 'refused'>;

/** Compares the database with the answers that writers received and with the events that listeners received. */
export async function compareWithTruth(
  service: DemoService,
  writers: readonly Written[],
  listeners: readonly Listener[],
): Promise<{ events: number; violations: string[]; broken: Broken }> {
  const userIds = new Set([...writers.map(({ client }) => client.person.userId), ...listeners.map(userIdOf)]);
  return withDatabase(service, async (query) => {
    const violations: string[] = [];
    const broken: Broken[] = [{ ...NOTHING, outOfOrder: disorderedEventsOf(listeners) }];
    let events = 0;
    for (const userId of userIds) {
      const truth = await readTruth(query, userId);
      events += truth.events.length;
      for (const writer of writers.filter(({ client }) => client.person.userId === userId)) {
        const found = inLog(writer, truth);
        violations.push(...missingFromLog(writer, found));
        broken.push({
          ...NOTHING,
          ...{ lost: found.missing.length, repeated: found.repeated.length, refusedButDone: found.done.length },
        });
      }
      for (const listener of listeners.filter((one) => userIdOf(one) === userId)) {
        violations.push(...misheard(listener, truth));
        broken.push({ ...NOTHING, lost: neverHeard(listener, truth).length });
      }
      violations.push(...unlikeState(truth, userId).map((what) => `user ${userId}: ${what}`));
    }
    return { events, violations, broken: addUp(broken) };
  });
}

const userIdOf = ({ person }: Listener) => person.userId;

function tokensIn(value: unknown): string[] {
  if (typeof value === 'string') return isToken(value) ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(tokensIn) : [];
}

const NOTHING: Broken = { lost: 0, repeated: 0, outOfOrder: 0, refusedButDone: 0 };

/** Returns the changes of a writer about which the event log contradicts the responses. */
function inLog({ acknowledged, refused }: Written, { events }: Truth) {
  const logged = new Map<string, number>();
  for (const token of events.flatMap(({ payload }) => [...new Set(tokensIn(payload))])) {
    logged.set(token, (logged.get(token) ?? 0) + 1);
  }
  return {
    missing: acknowledged.filter((token) => !logged.has(token)),
    done: refused.filter((token) => logged.has(token)),
    repeated: acknowledged.filter((token) => (logged.get(token) ?? 0) > 1),
  };
}

function missingFromLog({ client }: Written, { missing, done, repeated }: ReturnType<typeof inLog>): string[] {
  return [
    ...(missing.length > 0 ? [`acknowledged to the ${client.person.role}, not in the log: ${some(missing)}`] : []),
    ...(done.length > 0 ? [`refused, but in the log: ${some(done)}`] : []),
    ...(repeated.length > 0 ? [`in the log more than once: ${some(repeated)}`] : []),
  ];
}

const dueTo = ({ startId }: Listener, { events }: Truth) =>
  new Set(events.filter(({ id }) => id > startId).map(({ id }) => id));

const neverHeard = (listener: Listener, truth: Truth) => without(dueTo(listener, truth), listener.received.ids);

function misheard(listener: Listener, truth: Truth): string[] {
  const { name, received } = listener;
  const missed = neverHeard(listener, truth);
  const made = without(received.ids, new Set([...dueTo(listener, truth), ...received.passing]));
  return [
    ...received.violations.lines.map((what) => `${name}: ${what}`),
    ...(missed.length > 0 ? [`${name} did not receive ${some(missed)}`] : []),
    ...(made.length > 0 ? [`${name} received events that are not in the log: ${some(made)}`] : []),
  ];
}

/**
 * Applies all events of a user from the beginning of the log, and compares the result with the tables. Differences mean that a
 * change and its event were not committed in one transaction.
 *
 * @returns One sentence for each difference.
 */
function unlikeState({ events, drafts, snippets, messages, colors }: Truth, userId: number): string[] {
  const told = {
    drafts: new Map<number, string>(),
    snippets: new Map<number, string>(),
    messages: new Map<number, string>(),
    colors: new Map<number, string>(),
  };
  for (const { type, op, payload } of events) {
    if (type === 'drafts' && op === 'add') for (const one of payload.drafts) told.drafts.set(one.id, one.content);
    if (type === 'drafts' && op === 'update') told.drafts.set(payload.draft.id, payload.draft.content);
    if (type === 'saved_snippets' && op === 'add') {
      told.snippets.set(payload.saved_snippet.id, payload.saved_snippet.content);
    }
    if (type === 'message' && payload.sender.id === userId && isToken(payload.content)) {
      told.messages.set(payload.id, payload.content);
    }
    if (type === 'subscription' && op === 'update' && payload.property === 'color') {
      told.colors.set(payload.stream_id, payload.value);
    }
  }
  return [
    ...unlike('draft', told.drafts, drafts),
    ...unlike('snippet', told.snippets, snippets),
    ...unlike('message', told.messages, messages),
    ...unlike('color', told.colors, colors),
  ];
}

function unlike(what: string, told: ReadonlyMap<number, string>, kept: ReadonlyMap<number, string>): string[] {
  const wrong = [...told].filter(([id, value]) => kept.get(id) !== value);
  // Rows that are older than the log have no event. They contain no token, so they are ignored.
  const untold = [...kept].filter(([id, value]) => !told.has(id) && isToken(value) && what !== 'color');
  return [
    ...wrong.map(([id]) => `${what} ${id} differs from its last event`),
    ...untold.map(([id]) => `${what} ${id} has no event`),
  ];
}
