import type { Ctx } from '../../access/context.ts';
import { type Message, Prisma } from '../../generated/prisma/client.ts';
import { sharedRows } from '../../platform/db/gathered-reads.ts';
import { readRows } from '../../platform/db/rows.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { messagesByIds } from '../channel-messages.ts';
import { allOf } from '../reading.ts';
import type { CompiledNarrow } from './narrow.ts';
import { isMutedFor } from './narrow-operators.ts';
import { fromIds, type Sources, sourcesOf, unreadSourcesOf } from './narrow-sources.ts';
import { type Stretch, way } from './stretch.ts';

/** From which message on to read: its id, an end, the first unread one, or the first that was sent at a time or after it. */
export type Anchor = number | 'newest' | 'oldest' | 'first_unread' | Date;

/** What to read around the anchor. */
export interface Range {
  readonly anchor: Anchor;
  readonly numBefore: number;
  readonly numAfter: number;
  /** Whether the anchor itself is read, when it is one of the messages. */
  readonly includeAnchor: boolean;
}

/** What was found. */
export interface Selection {
  /** Ascending. */
  readonly ids: readonly number[];
  /** The id that was read around: 0 for the oldest, NEWEST for the newest. */
  readonly anchor: number;
  readonly foundAnchor: boolean;
  readonly foundOldest: boolean;
  readonly foundNewest: boolean;
}

/** What clients are told: more than any id. */
export const NEWEST = 10_000_000_000_000_000;
/** More than any id, for the database. */
const BEYOND = Number.MAX_SAFE_INTEGER;

const { sql } = Prisma;
const id = (value: number) => sql`${value}::bigint`;
/** Undefined where there is nothing to bound. */
const bound = (value: number) => (value <= 0 || value >= BEYOND ? undefined : id(value));

/** In one request. */
const MAX_MESSAGES = 5000;

function requireFew(count: number): void {
  if (count > MAX_MESSAGES) throw new BadRequestError(`Too many messages requested (maximum ${MAX_MESSAGES}).`);
}

/**
 * The messages of a narrow around an anchor. At most three queries, however many messages.
 *
 * @throws BadRequestError for more than 5000 messages, or an anchor left out within the range.
 */
export async function selectIds(ctx: Ctx, narrow: CompiledNarrow, range: Range): Promise<Selection> {
  const { numBefore, numAfter, includeAnchor } = range;
  requireFew(numBefore + numAfter);
  if (!includeAnchor && numBefore > 0 && numAfter > 0) {
    throw new BadRequestError('The anchor can only be excluded at an end of the range');
  }
  const anchor = await resolveAnchor(ctx, narrow, range.anchor);
  const sources = sourcesOf(narrow);
  const before: Stretch = { above: undefined, below: bound(anchor), newestFirst: true, limit: numBefore };
  const after: Stretch = { above: bound(anchor), below: undefined, newestFirst: false, limit: numAfter };
  // Just the anchor, when nothing is asked for but it.
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
 * Those of `ids` that are in the narrow and that the viewer may read, ascending. One query.
 *
 * @throws BadRequestError for more than 5000.
 */
export async function selectAmong(ctx: Ctx, narrow: CompiledNarrow, ids: readonly number[]): Promise<number[]> {
  requireFew(ids.length);
  const wanted = [...new Set(ids)].filter((value) => Number.isSafeInteger(value) && value > 0);
  if (wanted.length === 0) return [];
  const rows = await readRows<{ id: bigint }>(ctx.app.db, fromIds(narrow, wanted)(whole(wanted.length)));
  return rows.map((row) => Number(row.id));
}

/** Between which messages of a list to read on. */
export interface PageBounds {
  /** Ids above this one. */
  readonly above: number;
  /** Ids below this one. */
  readonly below: number;
  readonly newestFirst: boolean;
  readonly limit: number;
}

/** A page of a narrow's messages, by their ids, in its order. One query. */
export async function selectPage(ctx: Ctx, narrow: CompiledNarrow, bounds: PageBounds): Promise<number[]> {
  if (bounds.limit === 0) return [];
  const rows = await readRows<{ id: bigint }>(ctx.app.db, pageOf(narrow, bounds));
  return rows.map((row) => Number(row.id)).sort((a, b) => (bounds.newestFirst ? b - a : a - b));
}

/** A page of a narrow's messages, in its order. One query. */
export async function readPage(ctx: Ctx, narrow: CompiledNarrow, bounds: PageBounds): Promise<Message[]> {
  if (bounds.limit === 0) return [];
  const { realmId } = narrow.rights;
  // In a channel that is open to both, two viewers ask for the same: of many who come back at once, all do.
  const rows = await sharedRows<Message>({ db: ctx.app.db, realmId }, messagesByIds(realmId, pageOf(narrow, bounds)));
  return rows.toSorted((a, b) => Number(bounds.newestFirst ? b.id - a.id : a.id - b.id));
}

const pageOf = (narrow: CompiledNarrow, { above, below, ...bounds }: PageBounds): Prisma.Sql =>
  firstIn(narrow, sourcesOf(narrow), { ...bounds, above: bound(above), below: bound(below) }, sql`'page'`);

const certain = (narrow: CompiledNarrow, ids: readonly number[]): Sources => ({
  all: [fromIds(narrow, ids)],
  areScattered: false,
});

const whole = (limit: number): Stretch => ({ above: undefined, below: undefined, newestFirst: false, limit });

/**
 * How many ids are looked over at first, for each message wanted, and how many times as many when they were not enough.
 * Our choice: seldom more than some times as many messages are looked at as are wanted, and ten million ids are looked
 * over in some seven steps.
 */
const [SPAN, WIDENING] = [4, 8];

/**
 * The first messages of a stretch among all the sources together, as SQL of `part` and `id`.
 *
 * Each source could give as many as are wanted in all, and mostly does, so that for every place there is as much would be
 * read again. So the stretch is cut short at first, and made longer until there is enough in it.
 */
function firstIn(
  { rights }: CompiledNarrow,
  { all: sources, areScattered }: Sources,
  stretch: Stretch,
  part: Prisma.Sql,
): Prisma.Sql {
  const [one] = sources;
  if (one === undefined) return sql`(SELECT ${part} AS part, 0::bigint AS id WHERE false)`;
  if (!areScattered) return sql`(SELECT ${part} AS part, one.id FROM (${one(stretch)}) AS one)`;
  const { newestFirst, limit } = stretch;
  // Ids are drawn for all organisations together: one's own begin and end somewhere among them.
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

/** The first unread message of the narrow, past what is muted: there, nobody looks for it. */
async function firstUnread({ app }: Ctx, narrow: CompiledNarrow): Promise<number | undefined> {
  const { rights, isDirect, namesChannel, topic } = narrow;
  // What the narrow names by itself is looked at, muted or not.
  const isMuted = isDirect || topic !== undefined ? sql`false` : isMutedFor(rights.userId, !namesChannel);
  const heard = { ...narrow, ofMessage: allOf([narrow.ofMessage, sql`NOT ${isMuted}`]) };
  // Each source begins where the user stopped reading: what it finds first is near.
  const sources = unreadSourcesOf(heard).map((source) => sql`(${source(whole(1))})`);
  const [row] = await readRows<{ id: bigint }>(
    app.db,
    Prisma.sql`
    SELECT unread.id FROM (${Prisma.join(sources, ' UNION ALL ')}) AS unread ORDER BY unread.id LIMIT 1`,
  );
  return row === undefined ? undefined : Number(row.id);
}

/** By how much an earlier message can have the later time: the two were being sent at once. */
const SKEW_MS = 60_000;

/** The first message of the narrow that was sent at a time or after it. Ids rise with time, but for those sent at once. */
async function firstSince(ctx: Ctx, narrow: CompiledNarrow, given: Date): Promise<number | undefined> {
  // Nothing is older than that, and the database takes no time before the year 1.
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
