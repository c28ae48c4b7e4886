import type { Ctx } from '../../access/context.ts';
import { type Message, Prisma } from '../../generated/prisma/client.ts';
import { sharedRows } from '../../platform/db/batched-reads.ts';
import { readRows } from '../../platform/db/rows.ts';
import { ValidationError } from '../../platform/errors.ts';
import { messagesByIds } from '../channel-messages.ts';
import { lowestIdSince } from '../ids-by-time.ts';
import { MAX_PAGE_BYTES } from '../reply-size.ts';
import { type CompiledNarrow, withCondition } from './narrow.ts';
import { isMutedFor } from './narrow-operators.ts';
import { fromIds, sourcesOf, unreadSourcesOf } from './narrow-sources.ts';
import { type Sources, type Stretch, way } from './stretch.ts';

/**
 * Position around which a page of messages is fetched: a message id, the newest or oldest end, the first unread message, or the
 * first message sent at or after a time.
 */
export type Anchor = number | 'newest' | 'oldest' | 'first_unread' | Date;

/** An anchor, and the numbers of older and newer messages to select. */
export interface Range {
  readonly anchor: Anchor;
  readonly numBefore: number;
  readonly numAfter: number;
  /** Whether the anchor itself is selected if it is in the narrow (message filter). */
  readonly includeAnchor: boolean;
}

/** Ids of the selected messages, and whether they include the first and the last message of the narrow. */
export interface Selection {
  /** Ids of the messages, ascending. */
  readonly ids: readonly number[];
  /** Message id to which the anchor was resolved. 0 for the oldest end, `NEWEST` for the newest end. */
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
/** Converts an exclusive bound of message ids to SQL. Undefined if the bound is below or above the ids of all messages. */
const bound = (value: number) => (value <= 0 || value >= BEYOND ? undefined : id(value));

/** Maximum number of messages that one request can select. Larger requests are refused with `ValidationError`. */
const MAX_MESSAGES = 5000;

function requireFew(count: number, parameter: string): void {
  if (count <= MAX_MESSAGES) return;
  throw new ValidationError(`Too many messages requested (maximum ${MAX_MESSAGES}).`, {
    parameter,
    maximum: MAX_MESSAGES,
  });
}

/**
 * Selects the ids of the messages of a narrow around an anchor. Uses at most three queries, for any number of messages.
 *
 * @throws ValidationError if more than 5000 messages are requested, or if the anchor is excluded although messages on both
 *   sides of it are requested.
 */
export async function selectIds(ctx: Ctx, narrow: CompiledNarrow, range: Range): Promise<Selection> {
  const { numBefore, numAfter, includeAnchor } = range;
  requireFew(numBefore + numAfter, numBefore < numAfter ? 'num_after' : 'num_before');
  if (!includeAnchor && numBefore > 0 && numAfter > 0) {
    throw new ValidationError('The anchor can only be excluded at an end of the range', {
      parameter: 'include_anchor',
    });
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
      : await readRows<{ part: string; id: bigint }>(ctx.work.db, Prisma.join(parts, ' UNION ALL '));
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
 * Returns those of the given message ids whose messages match the narrow and can be read by the viewer, ascending. Uses one
 * query.
 *
 * @throws ValidationError if `ids` has more than 5000 elements.
 */
export async function selectAmong(ctx: Ctx, narrow: CompiledNarrow, ids: readonly number[]): Promise<number[]> {
  requireFew(ids.length, 'message_ids');
  const wanted = [...new Set(ids)].filter((value) => Number.isSafeInteger(value) && value > 0);
  if (wanted.length === 0) return [];
  const rows = await readRows<{ id: bigint }>(ctx.work.db, fromIds(narrow, wanted)(whole(wanted.length)));
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

/** Selects the message ids of one page of a narrow, in the order that `bounds` requests. Uses one query. */
export async function selectPage(ctx: Ctx, narrow: CompiledNarrow, bounds: PageBounds): Promise<number[]> {
  if (bounds.limit === 0) return [];
  const rows = await readRows<{ id: bigint }>(ctx.work.db, pageOf(narrow, bounds));
  return rows.map((row) => Number(row.id)).sort((a, b) => (bounds.newestFirst ? b - a : a - b));
}

/** The messages of a page that fit into one response, in the order of the page. */
export interface ReadPage {
  readonly rows: readonly Message[];
  /** Number of messages that were found, including those that were left out because they did not fit. */
  readonly count: number;
}

/**
 * Reads a page of a narrow's messages. Uses one query. Omits messages after the first `MAX_PAGE_BYTES` bytes of text, but
 * always returns the first message. The database computes the lengths without reading the texts.
 */
export async function readPage(ctx: Ctx, narrow: CompiledNarrow, bounds: PageBounds): Promise<ReadPage> {
  if (bounds.limit === 0) return { rows: [], count: 0 };
  const { organizationId } = narrow.rights;
  const bytes = sql`(octet_length(found."content") + octet_length(found."renderedContent"))`;
  const order = sql`ORDER BY found."id" ${bounds.newestFirst ? sql`DESC` : sql`ASC`}`;
  const statement = sql`
    SELECT page.* FROM (
      SELECT found.*, (count(*) OVER ())::int AS "found", (row_number() OVER (${order}))::int AS "nth",
             (sum(${bytes}) OVER (${order}))::float8 AS "bytes"
      FROM (${messagesByIds(organizationId, pageOf(narrow, bounds))}) AS found
    ) AS page WHERE page."nth" = 1 OR page."bytes" <= ${MAX_PAGE_BYTES}::float8`;
  // Viewers of an open channel run the same statement. When many of them reconnect at the same time, one query serves them all.
  const rows = await sharedRows<Message & { readonly found: number }>({ db: ctx.work.db, organizationId }, statement);
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

/** A range of message ids from which at most `limit` messages are fetched, beginning at one end. */
type LimitedStretch = Stretch & { readonly limit: number };

const whole = (limit: number): LimitedStretch => ({ above: undefined, below: undefined, newestFirst: false, limit });

/**
 * `SPAN` is the length of the first window of ids, divided by the number of requested messages. `WIDENING` is the factor by
 * which each further window grows. A window seldom contains more than a few times the requested messages, and about seven
 * windows cover ten million ids.
 */
const [SPAN, WIDENING] = [4, 8];

/**
 * Builds a query of the ids of the first `limit` messages in a range of ids, in the order of reading, among the messages that
 * at least one of the sources returns. Each row has the columns `part`, with the given label, and `id`.
 *
 * Each channel and conversation alone may contain all the messages that are requested, so reading the whole range from each of
 * them would be expensive. Therefore the query first reads a short part of the range (a window), and then longer windows until
 * it has enough messages.
 *
 * @param part Label that distinguishes these rows from those of other queries in the same statement.
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
    (order) =>
      sql`(SELECT m.id FROM message m WHERE m.realm_id = ${rights.organizationId} ORDER BY m.id ${order} LIMIT 1)`,
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
 * Finds the id of the first message in the narrow that is unread and not muted. Undefined if there is no such message. If the
 * narrow names a topic or matches only direct messages, muting is ignored. If the narrow names only a channel, muting of the
 * channel is ignored, but muting of topics is not.
 */
async function firstUnread({ work }: Ctx, narrow: CompiledNarrow): Promise<number | undefined> {
  const { rights, isDirect, namesChannel, topic } = narrow;
  const isMuted = isDirect || topic !== undefined ? sql`false` : isMutedFor(rights, !namesChannel);
  const unmuted = withCondition(narrow, sql`NOT ${isMuted}`);
  // Each source begins at the user's read mark, so the first match of each source is near that mark.
  const sources = unreadSourcesOf(unmuted).map((source) => sql`(${source(whole(1))})`);
  const [row] = await readRows<{ id: bigint }>(
    work.db,
    Prisma.sql`
    SELECT unread.id FROM (${Prisma.join(sources, ' UNION ALL ')}) AS unread ORDER BY unread.id LIMIT 1`,
  );
  return row === undefined ? undefined : Number(row.id);
}

/** Finds the id of the first message in the narrow that was sent at or after a time. Undefined if there is no such message. */
async function firstSince(ctx: Ctx, narrow: CompiledNarrow, given: Date): Promise<number | undefined> {
  const { db } = ctx.work;
  // Raises times before 1970, because the database accepts no time before the year 1. No message was sent before 1970.
  const time = new Date(Math.max(given.getTime(), 0));
  const low = await lowestIdSince(db, narrow.rights.organizationId, time);
  const since = withCondition(narrow, sql`m.sent_at >= ${time}::timestamptz`);
  const stretch = { ...whole(1), above: bound(low - 1) };
  const [first] = await readRows<{ id: bigint }>(db, firstIn(since, sourcesOf(since), stretch, sql`'since'`));
  return first === undefined ? undefined : Number(first.id);
}
