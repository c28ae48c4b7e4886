import type { Ctx } from '../../access/context.ts';
import { type Message, Prisma } from '../../generated/prisma/client.ts';
import { sharedRows } from '../../platform/db/batched-reads.ts';
import { readRows } from '../../platform/db/rows.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { messagesByIds } from '../channel-messages.ts';
import { allOf } from '../reading.ts';
import { MAX_PAGE_BYTES } from '../reply-size.ts';
import type { CompiledNarrow } from './narrow.ts';
import { isMutedFor } from './narrow-operators.ts';
import { fromIds, sourcesOf, unreadSourcesOf } from './narrow-sources.ts';
import { type Sources, type Stretch, way } from './stretch.ts';

/**
 * The message around which a page is fetched: a message id, the newest or oldest end, the first unread message, or the first
 * message sent at or after a time.
 */
export type Anchor = number | 'newest' | 'oldest' | 'first_unread' | Date;

/** An anchor, and the numbers of older and newer messages to select. */
export interface Range {
  readonly anchor: Anchor;
  readonly numBefore: number;
  readonly numAfter: number;
  /** Whether the anchor itself is selected if it is in the narrow. */
  readonly includeAnchor: boolean;
}

/** Ids of the selected messages, and which ends of the narrow they reach. */
export interface Selection {
  /** Ids of the messages, ascending. */
  readonly ids: readonly number[];
  /** Message id of the anchor. 0 for the oldest end, `NEWEST` for the newest end. */
  readonly anchor: number;
  readonly foundAnchor: boolean;
  readonly foundOldest: boolean;
  readonly foundNewest: boolean;
}

/** Id that clients receive as the anchor for the newest end. Greater than the id of every message. */
export const NEWEST = 10_000_000_000_000_000;
/** Upper bound of message ids in SQL. Greater than the id of every message. */
const BEYOND = Number.MAX_SAFE_INTEGER;

const { sql } = Prisma;
const id = (value: number) => sql`${value}::bigint`;
/** Converts an anchor to an SQL bound of ids. Undefined if every message is on one side of the anchor. */
const bound = (value: number) => (value <= 0 || value >= BEYOND ? undefined : id(value));

/** Maximum number of messages in one request. */
const MAX_MESSAGES = 5000;

function requireFew(count: number): void {
  if (count > MAX_MESSAGES) throw new BadRequestError(`Too many messages requested (maximum ${MAX_MESSAGES}).`);
}

/**
 * Selects the ids of the messages of a narrow around an anchor. Uses at most three queries, for any number of messages.
 *
 * @throws BadRequestError if more than 5000 messages are requested, or if the anchor is excluded although messages on both
 * sides of it are requested.
 */
export async function selectIds(ctx: Ctx, narrow: CompiledNarrow, range: Range): Promise<Selection> {
  const { numBefore, numAfter, includeAnchor } = range;
  requireFew(numBefore + numAfter);
  if (!includeAnchor && numBefore > 0 && numAfter > 0) {
    throw new BadRequestError('The anchor can only be excluded at an end of the range');
  }
  const anchor = await resolveAnchor(ctx, narrow, range.anchor);
  const sources = sourcesOf(narrow);
  const before: LimitedStretch = { above: undefined, below: bound(anchor), newestFirst: true, limit: numBefore };
  const after: LimitedStretch = { above: bound(anchor), below: undefined, newestFirst: false, limit: numAfter };
  // If no older or newer messages are requested, the anchor alone is selected, even without `includeAnchor`.
  const hasAnchor = (includeAnchor || numBefore + numAfter === 0) && anchor > 0 && anchor <= BEYOND;
  const parts = [
    ...(numBefore > 0 && anchor > 0 ? [firstIn(narrow, sources, before, sql`'before'`)] : []),
    ...(hasAnchor ? [firstIn(narrow, certain(narrow, [anchor]), whole(1), sql`'anchor'`)] : []),
    ...(numAfter > 0 && anchor < BEYOND ? [firstIn(narrow, sources, after, sql`'after'`)] : []),
  ];
  const rows =
    parts.length === 0 || sources.all.length === 0
      ? []
      : await readRows<{ part: string; id: bigint }>(ctx.app.db, Prisma.join(parts, ' UNION ALL '));
  const countOf = (part: string) => rows.filter((row) => row.part === part).length;
  return {
    ids: rows.map((row) => Number(row.id)).sort((a, b) => a - b),
    anchor,
    foundAnchor: countOf('anchor') > 0,
    foundOldest: anchor === 0 || countOf('before') < numBefore,
    foundNewest: anchor >= BEYOND || countOf('after') < numAfter,
  };
}

/**
 * Selects those of the given ids that are in the narrow and that the viewer can read, ascending. Uses one query.
 *
 * @throws BadRequestError for more than 5000 ids.
 */
export async function selectAmong(ctx: Ctx, narrow: CompiledNarrow, ids: readonly number[]): Promise<number[]> {
  requireFew(ids.length);
  const wanted = [...new Set(ids)].filter((value) => Number.isSafeInteger(value) && value > 0);
  if (wanted.length === 0) return [];
  const rows = await readRows<{ id: bigint }>(ctx.app.db, fromIds(narrow, wanted)(whole(wanted.length)));
  return rows.map((row) => Number(row.id));
}

/** Bounds, order and size of a page of messages. */
export interface PageBounds {
  /** Lower bound of the ids, exclusive. */
  readonly above: number;
  /** Upper bound of the ids, exclusive. */
  readonly below: number;
  readonly newestFirst: boolean;
  readonly limit: number;
}

/** Selects the ids of a page of a narrow's messages, in the order of the page. Uses one query. */
export async function selectPage(ctx: Ctx, narrow: CompiledNarrow, bounds: PageBounds): Promise<number[]> {
  if (bounds.limit === 0) return [];
  const rows = await readRows<{ id: bigint }>(ctx.app.db, pageOf(narrow, bounds));
  return rows.map((row) => Number(row.id)).sort((a, b) => (bounds.newestFirst ? b - a : a - b));
}

/** The messages of a page that fit into one response, in the order of the page. */
export interface ReadPage {
  readonly rows: readonly Message[];
  /** Number of messages that were found, including those that were left out because they did not fit. */
  readonly count: number;
}

/**
 * Reads a page of a narrow's messages. Uses one query. Leaves out the messages after the first `MAX_PAGE_BYTES` bytes of text,
 * but not the first message. The database computes the lengths without reading the texts.
 */
export async function readPage(ctx: Ctx, narrow: CompiledNarrow, bounds: PageBounds): Promise<ReadPage> {
  if (bounds.limit === 0) return { rows: [], count: 0 };
  const { realmId } = narrow.rights;
  const bytes = sql`(octet_length(found."content") + octet_length(found."renderedContent"))`;
  const order = sql`ORDER BY found."id" ${bounds.newestFirst ? sql`DESC` : sql`ASC`}`;
  const statement = sql`
    SELECT page.* FROM (
      SELECT found.*, (count(*) OVER ())::int AS "found", (row_number() OVER (${order}))::int AS "nth",
             (sum(${bytes}) OVER (${order}))::float8 AS "bytes"
      FROM (${messagesByIds(realmId, pageOf(narrow, bounds))}) AS found
    ) AS page WHERE page."nth" = 1 OR page."bytes" <= ${MAX_PAGE_BYTES}::float8`;
  // Viewers of an open channel run the same statement. When many of them reconnect at the same time, one query serves them all.
  const rows = await sharedRows<Message & { readonly found: number }>({ db: ctx.app.db, realmId }, statement);
  return {
    rows: rows.toSorted((a, b) => Number(bounds.newestFirst ? b.id - a.id : a.id - b.id)),
    count: rows[0]?.found ?? 0,
  };
}

const pageOf = (narrow: CompiledNarrow, { above, below, ...bounds }: PageBounds): Prisma.Sql =>
  firstIn(narrow, sourcesOf(narrow), { ...bounds, above: bound(above), below: bound(below) }, sql`'page'`);

const certain = (narrow: CompiledNarrow, ids: readonly number[]): Sources => ({
  all: [fromIds(narrow, ids)],
  kind: 'inOneIndex',
});

/** A range of message ids from which messages are fetched in one direction, up to a limit. */
type LimitedStretch = Stretch & { readonly limit: number };

const whole = (limit: number): LimitedStretch => ({ above: undefined, below: undefined, newestFirst: false, limit });

/**
 * `SPAN` is the length of the first window, in ids per requested message. `WIDENING` is the factor by which each further window
 * grows. A window seldom contains more than a few times the requested messages, and about seven windows cover ten million ids.
 */
const [SPAN, WIDENING] = [4, 8];

/**
 * Builds the query of the first messages in a range of ids, from all sources. Its columns are `part` and `id`.
 *
 * Each channel and conversation alone may contain all the messages that are requested, so reading the whole range from each of
 * them would be expensive. Therefore the query reads a short window of the range, and then longer windows until it has enough
 * messages.
 */
function firstIn(
  { rights }: CompiledNarrow,
  { all: sources, kind }: Sources,
  stretch: LimitedStretch,
  part: Prisma.Sql,
): Prisma.Sql {
  const [one] = sources;
  if (one === undefined) return sql`(SELECT ${part} AS part, 0::bigint AS id WHERE false)`;
  if (kind !== 'scattered') return sql`(SELECT ${part} AS part, one.id FROM (${one(stretch)}) AS one)`;
  const { newestFirst, limit } = stretch;
  // Ids come from one sequence for all organizations, so the ids of one organization can begin and end anywhere in it.
  const [first, last] = [sql`ASC`, sql`DESC`].map(
    (order) => sql`(SELECT m.id FROM message m WHERE m.realm_id = ${rights.realmId} ORDER BY m.id ${order} LIMIT 1)`,
  );
  const bottom = sql`GREATEST(${stretch.above ?? id(0)}, ${first} - 1)`;
  const top = sql`LEAST(${stretch.below ?? id(BEYOND)}, ${last} + 1)`;
  const [start, finish] = newestFirst ? [top, bottom] : [bottom, top];
  const reach = sql`(${Math.max(SPAN * limit, 64)}::bigint * ${WIDENING}::bigint ^ w.step)::bigint`;
  const edge = newestFirst ? sql`GREATEST(w.finish, w.start - ${reach})` : sql`LEAST(w.finish, w.start + ${reach})`;
  const cut: Stretch = newestFirst
    ? { ...stretch, above: sql`next.edge`, below: sql`w.start` }
    : { ...stretch, above: sql`w.start`, below: sql`next.edge` };
  const all = Prisma.join(
    sources.map((source) => sql`(${source(cut)})`),
    ' UNION ',
  );
  return sql`(
    WITH RECURSIVE widening (step, start, finish, edge, ids) AS (
      SELECT 0, ends.start, ends.finish, ends.start, '{}'::bigint[] FROM (SELECT ${start} AS start, ${finish} AS finish) AS ends
      UNION ALL
      SELECT w.step + 1, w.start, w.finish, next.edge,
             ARRAY(SELECT a.id FROM (${all}) AS a ORDER BY a.id ${way(stretch)} LIMIT ${limit}::bigint)
      FROM widening w CROSS JOIN LATERAL (SELECT ${edge} AS edge) AS next
      WHERE cardinality(w.ids) < ${limit}::int AND w.edge ${newestFirst ? sql`>` : sql`<`} w.finish
    )
    SELECT ${part} AS part, unnest(last.ids) AS id FROM (SELECT ids FROM widening ORDER BY step DESC LIMIT 1) AS last)`;
}

async function resolveAnchor(ctx: Ctx, narrow: CompiledNarrow, anchor: Anchor): Promise<number> {
  if (anchor === 'newest') return NEWEST;
  if (anchor === 'oldest') return 0;
  if (typeof anchor === 'number') return anchor > NEWEST ? NEWEST : Math.max(0, anchor);
  return (anchor === 'first_unread' ? await firstUnread(ctx, narrow) : await firstSince(ctx, narrow, anchor)) ?? NEWEST;
}

/**
 * Finds the first unread message of the narrow that is not muted. Undefined if there is none. A muted conversation, topic or
 * channel counts as not muted if the narrow names it.
 */
async function firstUnread({ app }: Ctx, narrow: CompiledNarrow): Promise<number | undefined> {
  const { rights, isDirect, namesChannel, topic } = narrow;
  // Messages in a conversation, topic or channel that the narrow names are not skipped, even if it is muted.
  const isMuted = isDirect || topic !== undefined ? sql`false` : isMutedFor(rights.userId, !namesChannel);
  const heard = { ...narrow, ofMessage: allOf([narrow.ofMessage, sql`NOT ${isMuted}`]) };
  // Each source begins at the user's read mark, so the first match of a source is near its beginning.
  const sources = unreadSourcesOf(heard).map((source) => sql`(${source(whole(1))})`);
  const [row] = await readRows<{ id: bigint }>(
    app.db,
    Prisma.sql`
    SELECT unread.id FROM (${Prisma.join(sources, ' UNION ALL ')}) AS unread ORDER BY unread.id LIMIT 1`,
  );
  return row === undefined ? undefined : Number(row.id);
}

/**
 * Maximum time by which a message can be later than a message with a higher id. Ids of concurrent messages can be out of order.
 */
const SKEW_MS = 60_000;

/**
 * Finds the first message of the narrow that was sent at or after a time. Undefined if there is none. Searches by bisection,
 * because ids ascend with time, except for concurrent messages.
 */
async function firstSince(ctx: Ctx, narrow: CompiledNarrow, given: Date): Promise<number | undefined> {
  // No message is older than one minute after 1970 began, and the database accepts no time before the year 1.
  const time = new Date(Math.max(given.getTime(), SKEW_MS));
  const { db } = ctx.app;
  const { realmId } = narrow.rights;
  const [row] = await readRows<{ low: bigint }>(
    db,
    Prisma.sql`
    WITH RECURSIVE halving (low, high) AS (
      SELECT 0::bigint, COALESCE((SELECT m.id FROM message m WHERE m.realm_id = ${realmId} ORDER BY m.id DESC LIMIT 1), 0)
      UNION ALL
      SELECT CASE WHEN probe.sent_at < ${new Date(time.getTime() - SKEW_MS)}::timestamptz THEN probe.id + 1 ELSE h.low END,
             CASE WHEN probe.sent_at < ${new Date(time.getTime() - SKEW_MS)}::timestamptz THEN h.high ELSE middle.id END
      FROM halving h CROSS JOIN LATERAL (SELECT (h.low + h.high) / 2 AS id) AS middle
      CROSS JOIN LATERAL (
        SELECT m.id, m.sent_at FROM message m WHERE m.realm_id = ${realmId} AND m.id >= middle.id ORDER BY m.id LIMIT 1
      ) AS probe
      WHERE h.low < h.high
    )
    SELECT low FROM halving ORDER BY high - low LIMIT 1`,
  );
  const since = { ...narrow, ofMessage: allOf([narrow.ofMessage, sql`m.sent_at >= ${time}::timestamptz`]) };
  const stretch = { ...whole(1), above: bound(Number(row?.low ?? 0) - 1) };
  const [first] = await readRows<{ id: bigint }>(db, firstIn(since, sourcesOf(since), stretch, sql`'since'`));
  return first === undefined ? undefined : Number(first.id);
}
