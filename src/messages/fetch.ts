import type { Ctx } from '../access/context.ts';
import type { Reaction, User } from '../generated/prisma/client.ts';
import { escapeText } from '../markdown/escape.ts';
import { BadRequestError } from '../platform/errors.ts';
import { accessMessage } from './access.ts';
import { type HistoryStep, historyPolicy, historySteps } from './edit-history.ts';
import { readWhole, snapshotOf, type WholeMessage } from './event-snapshot.ts';
import { readFlags } from './flag-conditions.ts';
import { highlighter } from './narrow/highlighting.ts';
import { type CompiledNarrow, compileNarrow } from './narrow/narrow.ts';
import { type Range, type Selection, selectAmong, selectIds } from './narrow/narrow-select.ts';
import type { NarrowTerm } from './narrow/narrow-terms.ts';
import { cutToSize, requireSize } from './page-bytes.ts';
import { readEdits } from './stored-edits.ts';
import type { MessageEventSnapshot, UserFlags } from './wire.ts';

/** Content and topic of a message as HTML, with search matches highlighted. */
export interface Match {
  readonly content: string;
  readonly topic: string;
}

/** A message with the reader's flags, its reactions and its edits. */
export interface FetchedMessage {
  readonly facts: MessageEventSnapshot;
  readonly flags: UserFlags;
  /** Reactions to the message, oldest first. */
  readonly reactions: readonly (Reaction & { readonly user: User })[];
  /** Edits of the message that the organization's policy shows, oldest first. */
  readonly edits: readonly HistoryStep[];
  /** Time of the last edit of the content. Null if the content was never edited. */
  readonly lastEditedAt: Date | null;
  /** Time of the last move. Null if the message was never moved. */
  readonly lastMovedAt: Date | null;
  /** Highlighted content and topic. Undefined if the narrow has no search. */
  readonly match: Match | undefined;
}

/** A page of messages, ascending by id. Also has the anchor, and whether the page reaches the ends of the narrow. */
export interface FetchedPage extends Omit<Selection, 'ids'> {
  readonly messages: readonly FetchedMessage[];
}

/**
 * Reads the messages of a narrow around an anchor for the viewer. Returns fewer than requested if they would exceed the size of
 * a response. The number of queries does not depend on the number of messages.
 *
 * @throws BadNarrowError under the conditions of `compileNarrow`.
 * @throws BadRequestError under the conditions of `selectIds`.
 */
export async function fetchMessages(ctx: Ctx, terms: readonly NarrowTerm[], range: Range): Promise<FetchedPage> {
  const narrow = await compileNarrow(ctx, terms);
  const selection = await selectIds(ctx, narrow, range);
  const { ids, ...found } = await cutToSize(ctx.app.db, ctx.realmId, selection);
  return { ...found, messages: await assemble(ctx, narrow, ids) };
}

/**
 * Reads messages by id for the viewer, ascending by id. Omits ids that do not exist, that the viewer cannot read, or that are
 * outside the narrow.
 *
 * @throws BadNarrowError under the conditions of `compileNarrow`.
 * @throws BadRequestError for more than 5000 ids, or if the messages exceed the size of a response.
 */
export async function fetchByIds(
  ctx: Ctx,
  terms: readonly NarrowTerm[],
  ids: readonly number[],
): Promise<FetchedMessage[]> {
  const narrow = await compileNarrow(ctx, terms);
  // Messages can be requested by id even if the viewer did not receive them, unless the narrow depends on the viewer's own
  // data.
  const readsHistory = narrow.readsHistory || terms.length === 0;
  const found = await selectAmong(ctx, { ...narrow, readsHistory }, ids);
  await requireSize(ctx.app.db, ctx.realmId, found);
  return assemble(ctx, narrow, found);
}

/**
 * Reads one message for the viewer.
 *
 * @throws BadRequestError if the message does not exist or the viewer cannot read it. The error is identical in both cases, so
 *   that it does not reveal whether the message exists.
 */
export async function fetchMessage(ctx: Ctx, messageId: number): Promise<FetchedMessage> {
  await accessMessage(ctx, messageId);
  const [message] = await assemble(ctx, undefined, [messageId]);
  if (message === undefined) throw new BadRequestError('Invalid message(s)');
  return message;
}

/**
 * Selects the messages that match a narrow among the given ids. Returns their content and topic by id, with search matches
 * highlighted.
 *
 * @throws BadNarrowError under the conditions of `compileNarrow`.
 * @throws BadRequestError for more than 5000 ids.
 */
export async function matchNarrow(
  ctx: Ctx,
  terms: readonly NarrowTerm[],
  ids: readonly number[],
): Promise<Map<number, Match>> {
  const narrow = await compileNarrow(ctx, terms);
  const found = await selectAmong(ctx, narrow, ids);
  const rows =
    found.length === 0
      ? []
      : await ctx.app.db.message.findMany({
          where: { realmId: ctx.realmId, id: { in: found } },
          select: { id: true, topic: true, renderedContent: true },
          orderBy: { id: 'asc' },
        });
  const matchOf = await matcher(ctx, narrow, rows);
  return new Map(rows.map((row) => [Number(row.id), matchOf(row)]));
}

type Matched = Pick<WholeMessage, 'topic' | 'renderedContent'>;

/**
 * Returns a function that highlights the matches of a narrow's search in the given messages. Without a search, it highlights
 * nothing.
 */
async function matcher(
  { app }: Ctx,
  { search }: CompiledNarrow,
  messages: readonly Matched[],
): Promise<(message: Matched) => Match> {
  const texts = messages.flatMap(({ topic, renderedContent }) => [escapeText(topic), renderedContent]);
  const highlight = search === undefined ? (html: string) => html : await highlighter(app.db, search, texts);
  return ({ topic, renderedContent }) => ({
    content: highlight(renderedContent),
    topic: highlight(escapeText(topic)),
  });
}

/** Reads flags, reactions, edits and search highlights of messages. The caller checks that the viewer can read the messages. */
async function assemble(
  ctx: Ctx,
  narrow: CompiledNarrow | undefined,
  ids: readonly number[],
): Promise<FetchedMessage[]> {
  const { app, viewer, realmId } = ctx;
  if (ids.length === 0) return [];
  const messages = await readWhole(app.db, realmId, ids);
  const policy = historyPolicy(viewer.realm);
  const mine = { realmId, messageId: { in: [...ids] } };
  const flags = await readFlags(app.db, viewer, ids);
  const reactions = await app.db.reaction.findMany({ where: mine, include: { user: true }, orderBy: { id: 'asc' } });
  const edits = policy === 'none' ? [] : await readEdits(app.db, realmId, ids, { readsHtml: false });
  const [reactionsTo, editsOf] = [Map.groupBy(reactions, byMessage), Map.groupBy(edits, byMessage)];
  const matchOf = narrow?.search === undefined ? undefined : await matcher(ctx, narrow, messages);
  return messages.map((message) => ({
    facts: snapshotOf(viewer.realm, message),
    flags: flags.get(Number(message.id)) ?? {},
    reactions: reactionsTo.get(message.id) ?? [],
    edits: historySteps(message, editsOf.get(message.id) ?? [], policy),
    lastEditedAt: message.lastEditedAt,
    lastMovedAt: message.lastMovedAt,
    match: matchOf?.(message),
  }));
}

const byMessage = ({ messageId }: { readonly messageId: bigint }) => messageId;
