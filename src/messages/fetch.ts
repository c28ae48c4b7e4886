import type { Ctx } from '../access/context.ts';
import type { Reaction, User } from '../generated/prisma/client.ts';
import { escapeText } from '../markdown/escape.ts';
import { accessMessage, invalidMessage } from './access.ts';
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

/** Content and topic of a message as HTML, in which the matches of a search are highlighted. */
export interface Match {
  readonly content: string;
  readonly topic: string;
}

/** A message with the reader's flags, its reactions and its edits. */
export interface FetchedMessage {
  readonly snapshot: MessageEventSnapshot;
  readonly flags: UserFlags;
  /** Reactions to the message, oldest first. */
  readonly reactions: readonly (Reaction & { readonly user: User })[];
  /** Edits of the message that the organization's policy shows, oldest first. */
  readonly edits: readonly HistoryStep[];
  /** Time of the last edit of the content. Null if the content was never edited. */
  readonly lastEditedAt: Date | null;
  /** Time of the last move. Null if the message was never moved. */
  readonly lastMovedAt: Date | null;
  /** Highlighted content and topic. Undefined if the narrow (message filter) has no search. */
  readonly match: Match | undefined;
}

/**
 * A page of messages around an anchor, ascending by id. Also has the id of the anchor message, and whether the page reaches the
 * oldest and the newest message of the narrow (message filter).
 */
export interface FetchedPage extends Omit<Selection, 'ids'> {
  readonly messages: readonly FetchedMessage[];
}

/**
 * Reads the messages of a narrow around an anchor for the viewer. Returns fewer messages than requested if the response would
 * become too large. The number of queries does not depend on the number of messages.
 *
 * @throws BadNarrowError if an operator or operand is invalid, a term names something that does not exist or that the viewer
 *   cannot see, or two terms exclude each other.
 * @throws ValidationError if more than 5000 messages are requested, if the anchor is excluded although messages on both sides
 *   of it are requested, or if an operand has a null byte or more than 10,000 characters.
 */
export async function fetchMessages(ctx: Ctx, terms: readonly NarrowTerm[], range: Range): Promise<FetchedPage> {
  const narrow = await compileNarrow(ctx, terms);
  const selection = await selectIds(ctx, narrow, range);
  const { ids, ...found } = await cutToSize(ctx.work.db, ctx.organizationId, selection);
  return { ...found, messages: await assemble(ctx, narrow, ids) };
}

/**
 * Reads messages by id for the viewer, ascending by id. Omits ids that do not exist, that the viewer cannot read, or that are
 * outside the narrow.
 *
 * @throws BadNarrowError if an operator or operand is invalid, a term names something that does not exist or that the viewer
 *   cannot see, or two terms exclude each other.
 * @throws ValidationError for more than 5000 ids, or if the messages exceed the size of a response.
 */
export async function fetchByIds(
  ctx: Ctx,
  terms: readonly NarrowTerm[],
  ids: readonly number[],
): Promise<FetchedMessage[]> {
  const narrow = await compileNarrow(ctx, terms);
  // The viewer can request a message by id without having received it, unless the narrow depends on the viewer's own data.
  const readsHistory = narrow.readsHistory || terms.length === 0;
  const found = await selectAmong(ctx, { ...narrow, readsHistory }, ids);
  await requireSize(ctx.work.db, ctx.organizationId, found);
  return assemble(ctx, narrow, found);
}

/**
 * Reads one message for the viewer.
 *
 * @throws NotFoundError if the message does not exist or the viewer cannot read it. The error is identical in both cases, so
 *   that it does not reveal whether the message exists.
 */
export async function fetchMessage(ctx: Ctx, messageId: number): Promise<FetchedMessage> {
  await accessMessage(ctx, messageId);
  const [message] = await assemble(ctx, undefined, [messageId]);
  if (message === undefined) throw invalidMessage(messageId);
  return message;
}

/**
 * Finds the messages with the given ids that match a narrow. Returns their content and topic by message id, with search matches
 * highlighted.
 *
 * @throws BadNarrowError if an operator or operand is invalid, a term names something that does not exist or that the viewer
 *   cannot see, or two terms exclude each other.
 * @throws ValidationError for more than 5000 ids.
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
      : await ctx.work.db.message.findMany({
          where: { organizationId: ctx.organizationId, id: { in: found } },
          select: { id: true, topic: true, renderedContent: true },
          orderBy: { id: 'asc' },
        });
  const matchOf = await matcher(ctx, narrow, rows);
  return new Map(rows.map((row) => [Number(row.id), matchOf(row)]));
}

type Matched = Pick<WholeMessage, 'topic' | 'renderedContent'>;

/**
 * Returns a function that highlights, in the given messages, the matches of a narrow's search. If the narrow has no search, the
 * function highlights nothing. Uses at most one query.
 */
export async function matcher(
  { work }: Ctx,
  { search }: CompiledNarrow,
  messages: readonly Matched[],
): Promise<(message: Matched) => Match> {
  const texts = messages.flatMap(({ topic, renderedContent }) => [escapeText(topic), renderedContent]);
  const highlight = search === undefined ? (html: string) => html : await highlighter(work.db, search, texts);
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
  const { work, viewer, organizationId } = ctx;
  if (ids.length === 0) return [];
  const messages = await readWhole(work.db, organizationId, ids);
  const policy = historyPolicy(viewer.organization);
  const mine = { organizationId, messageId: { in: [...ids] } };
  const flags = await readFlags(work.db, viewer, ids);
  const reactions = await work.db.reaction.findMany({ where: mine, include: { user: true }, orderBy: { id: 'asc' } });
  const edits = policy === 'none' ? [] : await readEdits(work.db, organizationId, ids, { readsHtml: false });
  const [reactionsTo, editsOf] = [Map.groupBy(reactions, byMessage), Map.groupBy(edits, byMessage)];
  const matchOf = narrow?.search === undefined ? undefined : await matcher(ctx, narrow, messages);
  return messages.map((message) => ({
    snapshot: snapshotOf(viewer.organization, message),
    flags: flags.get(Number(message.id)) ?? {},
    reactions: reactionsTo.get(message.id) ?? [],
    edits: historySteps(message, editsOf.get(message.id) ?? [], policy),
    lastEditedAt: message.lastEditedAt,
    lastMovedAt: message.lastMovedAt,
    match: matchOf?.(message),
  }));
}

const byMessage = ({ messageId }: { readonly messageId: bigint }) => messageId;
