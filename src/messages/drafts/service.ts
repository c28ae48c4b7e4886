import type { Ctx } from '../../access/context.ts';
import { userSetting } from '../../access/user-settings.ts';
import { invalidChannelId, readableChannelIds } from '../../channels/access.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import { channelIdsOf } from '../../channels/reads.ts';
import { topicNamed } from '../../channels/topic-name.ts';
import { users } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { Draft, Prisma } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError, NotFoundError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { MAX_MESSAGE_LENGTH } from '../../platform/limits.ts';
import { cutText, lengthOf } from '../../platform/text.ts';
import { requireWithin, TOTALS } from '../../platform/totals.ts';
import { draftRemoved, draftsAdded, draftUpdated } from './events.ts';
import { draftsLength } from './queries.ts';
import type { DraftType } from './wire.ts';

export interface NewDraft {
  readonly type: DraftType;
  /**
   * Target of the draft, depending on `type`: a channel, as a list of one id or as a key, or the ids of users. Ignored if
   * `type` is empty.
   */
  readonly to: readonly number[] | ChannelKey;
  /** Topic of a draft for a channel, truncated to 60 code points. Ignored for other drafts. */
  readonly topic: string;
  /** Flavored Markdown that is not blank. Truncated to 10,000 code points. */
  readonly content: string;
  /** Time of the last edit, in UNIX seconds. Fractions are allowed. Null or absent: now. */
  readonly timestamp?: number | null | undefined;
}

/** Maximum number of drafts in a request. A user cannot have more drafts. */
const MAX_PER_REQUEST = TOTALS.drafts.max;
/** Maximum number of recipients of a draft: twice the maximum number of members of a direct conversation. */
const MAX_ADDRESSEES = 500;

/** Last second of the year 9999, in UNIX seconds. Date libraries disagree on later times. */
const LAST_TIMESTAMP = 253_402_300_799;

/**
 * Returns the filter for drafts that the viewer can see: only their own.
 *
 * @throws BadRequestError if the viewer has disabled the synchronization of drafts.
 */
export function visibleTo({ viewer }: Ctx): Prisma.DraftWhereInput {
  if (!userSetting(viewer.user, 'enable_drafts_synchronization')) {
    throw new BadRequestError('User has disabled synchronizing drafts.');
  }
  return { realmId: viewer.realm.id, authorId: viewer.id };
}

/**
 * Reads one of the viewer's drafts.
 *
 * @throws NotFoundError if no draft has this id, or it belongs to another user.
 * @throws BadRequestError if the viewer has disabled the synchronization of drafts.
 */
export async function accessDraft(ctx: Ctx, draftId: number): Promise<Draft> {
  const mine = visibleTo(ctx);
  const draft = isRowId(draftId) ? await ctx.app.db.draft.findFirst({ where: { id: draftId, ...mine } }) : null;
  if (draft === null) throw noSuchDraft();
  return draft;
}

const noSuchDraft = () => new NotFoundError('Draft does not exist');

/**
 * Reads the viewer's drafts, oldest edit first. Users can have more drafts than the limit, from before the limit existed. Then
 * only the drafts that were edited last are returned.
 *
 * @throws BadRequestError if the viewer has disabled the synchronization of drafts.
 */
export async function listDrafts(ctx: Ctx): Promise<Draft[]> {
  const orderBy: Prisma.DraftOrderByWithRelationInput[] = [{ lastEditedAt: 'asc' }, { id: 'asc' }];
  return ctx.app.db.draft.findMany({ where: visibleTo(ctx), orderBy, take: -TOTALS.drafts.max });
}

/**
 * Saves drafts for the viewer, all or none, and notifies the viewer's clients with one event.
 *
 * @returns The saved drafts, in the given order.
 * @throws BadRequestError for more than 1,000 drafts, or if the viewer has disabled the synchronization of drafts.
 * @throws BadRequestError if a draft is blank, contains a null byte, or has a timestamp before 1970 or after 9999.
 * @throws BadRequestError if a draft names no or several channels, a channel that the viewer cannot read, or an unknown user.
 * @throws TotalReachedError if the viewer would have more than 1,000 drafts, or more than 500,000 characters in them.
 */
export async function createDrafts(ctx: Ctx, drafts: readonly NewDraft[]): Promise<Draft[]> {
  visibleTo(ctx);
  if (drafts.length > MAX_PER_REQUEST)
    throw new BadRequestError(`A request can save at most ${MAX_PER_REQUEST} drafts`);
  const data = await toRows(ctx, drafts, (i) => `drafts[${i}]`);
  if (data.length === 0) return [];
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    const saved = await tx.draft.createManyAndReturn({ data });
    requireWithin('drafts', await tx.draft.count({ where: visibleTo(ctx) }));
    await requireLength(tx, ctx);
    // Ids are assigned in the order of the rows, but the rows can be returned in any order.
    saved.sort((a, b) => a.id - b.id);
    emit(draftsAdded(saved, ctx.viewer.realm), users([ctx.viewer.id]));
    return saved;
  });
}

/**
 * Replaces one of the viewer's drafts and notifies the viewer's clients.
 *
 * @param draft The complete new draft. Nothing of the old draft is kept.
 * @throws NotFoundError if no draft has this id, or it belongs to another user.
 * @throws BadRequestError, TotalReachedError under the conditions of `createDrafts`.
 */
export async function updateDraft(ctx: Ctx, draftId: number, draft: NewDraft): Promise<Draft> {
  await accessDraft(ctx, draftId);
  const [data] = await toRows(ctx, [draft], () => 'draft');
  if (data === undefined) throw new Error('The draft was not converted to a row');
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    const where = { id: draftId, ...visibleTo(ctx) };
    const before = await tx.draft.findFirst({ where, select: { content: true } });
    const [saved] = await tx.draft.updateManyAndReturn({ where, data });
    if (before === null || saved === undefined) throw noSuchDraft();
    if (lengthOf(saved.content) > lengthOf(before.content)) await requireLength(tx, ctx);
    emit(draftUpdated(saved, ctx.viewer.realm), users([ctx.viewer.id]));
    return saved;
  });
}

/**
 * Deletes one of the viewer's drafts and notifies the viewer's clients.
 *
 * @throws NotFoundError if no draft has this id, or it belongs to another user.
 * @throws BadRequestError if the viewer has disabled the synchronization of drafts.
 */
export async function deleteDraft(ctx: Ctx, draftId: number): Promise<void> {
  const mine = visibleTo(ctx);
  if (!isRowId(draftId)) throw noSuchDraft();
  await transact(ctx, async (tx, emit) => {
    const { count } = await tx.draft.deleteMany({ where: { id: draftId, ...mine } });
    if (count === 0) throw noSuchDraft();
    emit(draftRemoved(draftId), users([ctx.viewer.id]));
  });
}

/**
 * Checks the limit of the total length of the viewer's drafts. The caller holds the lock of the viewer.
 *
 * @throws TotalReachedError if the limit is exceeded.
 */
async function requireLength(tx: Tx, { viewer }: Ctx): Promise<void> {
  requireWithin('drafts_total_length', await draftsLength(tx, viewer.id));
}

/**
 * Checks drafts and converts them to rows, in the given order.
 *
 * @param nameOf Returns the name of the draft at an index, for error messages.
 * @throws BadRequestError if a draft is invalid.
 */
async function toRows(ctx: Ctx, drafts: readonly NewDraft[], nameOf: (index: number) => string) {
  const rows = drafts.map((draft, i) => toRow(ctx, draft, nameOf(i)));
  const keys = drafts.flatMap(({ to }) => (isKey(to) ? [to] : []));
  const ids = await channelIdsOf(ctx, keys);
  const idOf = new Map(keys.map((key, i) => [key, ids[i] ?? 0]));
  const addressed = rows.map(({ to, ...row }) => ({ ...row, to: isKey(to) ? [idOf.get(to) ?? 0] : [...to] }));
  await requireAddressees(ctx, addressed);
  return addressed;
}

const isKey = (to: NewDraft['to']): to is ChannelKey => 'id' in to || 'name' in to;

function toRow({ app, viewer }: Ctx, draft: NewDraft, name: string) {
  const { type, to, topic, content, timestamp } = draft;
  if (content.includes('\0')) throw new BadRequestError('Message must not contain null bytes');
  if (content.trim() === '') throw new BadRequestError(`${name}["content"] cannot be blank`, `${name}["content"]`);
  if (type === 'private' && !isKey(to) && to.length > MAX_ADDRESSEES) {
    throw new BadRequestError(`${name}["to"] is too long (limit: ${MAX_ADDRESSEES})`, `${name}["to"]`);
  }
  if (type === 'stream') {
    if (topic.includes('\0')) throw new BadRequestError('Topic must not contain null bytes');
    if (!isKey(to) && to.length !== 1)
      throw new BadRequestError('Must specify exactly 1 channel ID for channel messages');
  }
  return {
    realmId: viewer.realm.id,
    authorId: viewer.id,
    type,
    to: type === '' ? [] : to,
    topic: type === 'stream' ? topicNamed(viewer.realm, topic) : '',
    content: cutText(content, MAX_MESSAGE_LENGTH, '\n[message truncated]'),
    lastEditedAt: timestamp == null ? app.now() : toDate(timestamp, `${name}["timestamp"]`),
  };
}

function toDate(seconds: number, name: string): Date {
  if (seconds < 0) throw new BadRequestError('Timestamp must not be negative.');
  if (seconds > LAST_TIMESTAMP) throw new BadRequestError(`${name} is too large`, name);
  return new Date(seconds * 1000);
}

/**
 * Checks that the viewer can read the channels of all drafts and that their users exist, with one query for each kind.
 *
 * @throws BadRequestError if not.
 */
async function requireAddressees(ctx: Ctx, rows: readonly { type: DraftType; to: number[] }[]): Promise<void> {
  const named = (type: DraftType) => [...new Set(rows.flatMap((row) => (row.type === type ? row.to : [])))];
  const [channelIds, userIds] = [named('stream'), named('private')];
  const readable = await readableChannelIds(ctx, channelIds);
  if (channelIds.some((id) => !readable.has(id))) throw invalidChannelId();
  const known = new Set(await existingUserIds(ctx, userIds));
  const unknown = userIds.find((id) => !known.has(id));
  if (unknown !== undefined) throw new BadRequestError(`Invalid user ID ${unknown}`);
}

async function existingUserIds({ app, viewer }: Ctx, userIds: readonly number[]): Promise<number[]> {
  const ids = userIds.filter(isRowId);
  if (ids.length === 0) return [];
  const where = { realmId: viewer.realm.id, id: { in: ids } };
  const rows = await app.db.user.findMany({ where, select: { id: true } });
  return rows.map(({ id }) => id);
}
