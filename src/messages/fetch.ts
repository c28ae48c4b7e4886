import type { Ctx } from '../access/context.ts';
import type { Reaction, User } from '../generated/prisma/client.ts';
import { escapeText } from '../markdown/escape.ts';
import { BadRequestError } from '../platform/errors.ts';
import { accessMessage } from './access.ts';
import { type HistoryStep, historyPolicy, historySteps } from './edit-history.ts';
import { factsOf, readWhole, type WholeMessage } from './facts.ts';
import { type CompiledNarrow, compileNarrow } from './narrow/narrow.ts';
import { highlighter } from './narrow/narrow-search.ts';
import { type Range, type Selection, selectAmong, selectIds } from './narrow/narrow-select.ts';
import type { NarrowTerm } from './narrow/narrow-terms.ts';
import { cutToSize, requireSize } from './page-size.ts';
import { readFlags } from './user-flags.ts';
import type { MessageFacts, UserFlags } from './wire.ts';

/** Where in a message what was looked for is found, as HTML. */
export interface Match {
  readonly content: string;
  readonly topic: string;
}

/** A message as its reader has it. */
export interface FetchedMessage {
  readonly facts: MessageFacts;
  readonly flags: UserFlags;
  /** Oldest first. */
  readonly reactions: readonly (Reaction & { readonly user: User })[];
  /** From the first edit on, as far as the organisation shows them. */
  readonly edits: readonly HistoryStep[];
  /** Null when its content was never edited. */
  readonly lastEditedAt: Date | null;
  /** Null when it was never moved. */
  readonly lastMovedAt: Date | null;
  /** Where the words are that were looked for; undefined when none were. */
  readonly match: Match | undefined;
}

/** Messages, ascending by id, and where they lie in their narrow. */
export interface FetchedPage extends Omit<Selection, 'ids'> {
  readonly messages: readonly FetchedMessage[];
}

/**
 * The messages of a narrow around an anchor, as the viewer has them: fewer than asked for where they are too long
 * together. As many queries for many as for few.
 *
 * @throws BadNarrowError as `compileNarrow`, BadRequestError as `selectIds`.
 */
export async function fetchMessages(ctx: Ctx, terms: readonly NarrowTerm[], range: Range): Promise<FetchedPage> {
  const narrow = await compileNarrow(ctx, terms);
  const selection = await selectIds(ctx, narrow, range);
  const { ids, ...found } = await cutToSize(ctx.app.db, ctx.realmId, selection);
  return { ...found, messages: await assemble(ctx, narrow, ids) };
}

/**
 * Certain messages, as the viewer has them, ascending by id: those that are there, for the viewer to read, and in the
 * narrow.
 *
 * @throws BadNarrowError as `compileNarrow`.
 * @throws BadRequestError for more than 5000, or more than a reply holds.
 */
export async function fetchByIds(
  ctx: Ctx,
  terms: readonly NarrowTerm[],
  ids: readonly number[],
): Promise<FetchedMessage[]> {
  const narrow = await compileNarrow(ctx, terms);
  // Who names messages need not have received them, unless the narrow is about what they have with them.
  const readsHistory = narrow.readsHistory || terms.length === 0;
  const found = await selectAmong(ctx, { ...narrow, readsHistory }, ids);
  await requireSize(ctx.app.db, ctx.realmId, found);
  return assemble(ctx, narrow, found);
}

/**
 * One message, as the viewer has it.
 *
 * @throws BadRequestError when the viewer may not read it, as if there were none.
 */
export async function fetchMessage(ctx: Ctx, messageId: number): Promise<FetchedMessage> {
  await accessMessage(ctx, messageId);
  const [message] = await assemble(ctx, undefined, [messageId]);
  if (message === undefined) throw new BadRequestError('Invalid message(s)');
  return message;
}

/**
 * Those of certain messages that are in a narrow, by id, each with what it is shown as there.
 *
 * @throws BadNarrowError as `compileNarrow`.
 * @throws BadRequestError for more than 5000.
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

/** What tells where the words are that a narrow looks for. */
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

/** Everything about messages the viewer may read. */
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
  const edits = policy === 'none' ? [] : await app.db.messageEdit.findMany({ where: mine });
  const [reactionsTo, editsOf] = [Map.groupBy(reactions, byMessage), Map.groupBy(edits, byMessage)];
  const matchOf = narrow?.search === undefined ? undefined : await matcher(ctx, narrow, messages);
  return messages.map((message) => ({
    facts: factsOf(viewer.realm, message),
    flags: flags.get(Number(message.id)) ?? {},
    reactions: reactionsTo.get(message.id) ?? [],
    edits: historySteps(message, editsOf.get(message.id) ?? [], policy),
    lastEditedAt: message.lastEditedAt,
    lastMovedAt: message.lastMovedAt,
    match: matchOf?.(message),
  }));
}

const byMessage = ({ messageId }: { readonly messageId: bigint }) => messageId;
