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
  /** One channel, by its id alone in a list or by its key, or user ids, by `type`; means nothing without an address. */
  readonly to: readonly number[] | ChannelKey;
  /** Of a channel draft; means nothing otherwise. Cut to 60 code points. */
  readonly topic: string;
  /** Flavoured Markdown, not blank. Cut to 10,000 code points. */
  readonly content: string;
  /** UNIX seconds of the last edit, fractions allowed; null or absent: this moment. */
  readonly timestamp?: number | null | undefined;
}

/** No more could be kept. */
const MAX_PER_REQUEST = TOTALS.drafts.max;
/** Our choice: as many as may talk to each other directly, and as many again. */
const MAX_ADDRESSEES = 500;

/** Our choice: the last second of the year 9999, beyond which date libraries disagree. */
const LAST_TIMESTAMP = 253_402_300_799;

/**
 * The drafts the viewer may see: only their own.
 *
 * @throws BadRequestError when the viewer has turned synchronizing drafts off.
 */
export function visibleTo({ viewer }: Ctx): Prisma.DraftWhereInput {
  if (!userSetting(viewer.user, 'enable_drafts_synchronization')) {
    throw new BadRequestError('User has disabled synchronizing drafts.');
  }
  return { realmId: viewer.realm.id, authorId: viewer.id };
}

/**
 * One of the viewer's drafts.
 *
 * @throws NotFoundError when there is none with this id, or it is another user's.
 * @throws BadRequestError when the viewer has turned synchronizing drafts off.
 */
export async function accessDraft(ctx: Ctx, draftId: number): Promise<Draft> {
  const mine = visibleTo(ctx);
  const draft = isRowId(draftId) ? await ctx.app.db.draft.findFirst({ where: { id: draftId, ...mine } }) : null;
  if (draft === null) throw noSuchDraft();
  return draft;
}

const noSuchDraft = () => new NotFoundError('Draft does not exist');

/**
 * All of the viewer's drafts, from the one edited first to the one edited last. Of more than there may be, which some
 * may have from before there was a total, those edited last.
 *
 * @throws BadRequestError when the viewer has turned synchronizing drafts off.
 */
export async function listDrafts(ctx: Ctx): Promise<Draft[]> {
  const orderBy: Prisma.DraftOrderByWithRelationInput[] = [{ lastEditedAt: 'asc' }, { id: 'asc' }];
  return ctx.app.db.draft.findMany({ where: visibleTo(ctx), orderBy, take: -TOTALS.drafts.max });
}

/**
 * Saves `drafts` for the viewer and tells the viewer's clients, in one event. All are saved or none is.
 *
 * @returns The saved drafts, in the order given.
 * @throws BadRequestError for more than 1,000 drafts; when a draft is blank, holds a null byte, has a timestamp before 1970 or after 9999, names
 *   other than one channel or a channel the viewer may not read, or names a user who is not there; or when the viewer
 *   has turned synchronizing drafts off.
 * @throws TotalReachedError when there would be more than 1,000 in all, or more than 500,000 characters in them.
 */
export async function createDrafts(ctx: Ctx, drafts: readonly NewDraft[]): Promise<Draft[]> {
  visibleTo(ctx);
  if (drafts.length > MAX_PER_REQUEST)
    throw new BadRequestError(`At most ${MAX_PER_REQUEST} drafts can be saved at once`);
  const data = await toRows(ctx, drafts, (i) => `drafts[${i}]`);
  if (data.length === 0) return [];
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    const saved = await tx.draft.createManyAndReturn({ data });
    requireWithin('drafts', await tx.draft.count({ where: visibleTo(ctx) }));
    await requireLength(tx, ctx);
    // Ids are drawn in the order of the rows; the rows may come back in any.
    saved.sort((a, b) => a.id - b.id);
    emit(draftsAdded(saved, ctx.viewer.realm), users([ctx.viewer.id]));
    return saved;
  });
}

/**
 * Puts `draft` in the place of one of the viewer's drafts and tells the viewer's clients.
 *
 * @param draft The whole draft: nothing of the old one stays.
 * @throws NotFoundError when there is none with this id, or it is another user's.
 * @throws BadRequestError as `createDrafts`.
 */
export async function updateDraft(ctx: Ctx, draftId: number, draft: NewDraft): Promise<Draft> {
  await accessDraft(ctx, draftId);
  const [data] = await toRows(ctx, [draft], () => 'draft');
  if (data === undefined) throw new Error('One draft makes one row');
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
 * Deletes one of the viewer's drafts and tells the viewer's clients.
 *
 * @throws NotFoundError when there is none with this id, or it is another user's.
 * @throws BadRequestError when the viewer has turned synchronizing drafts off.
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

/** The viewer is locked. */
async function requireLength(tx: Tx, { viewer }: Ctx): Promise<void> {
  requireWithin('drafts_total_length', await draftsLength(tx, viewer.id));
}

/** The drafts as rows, checked. `nameOf` says how the client knows the draft at a place. */
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

/** All channels and users of all drafts, in one query each. */
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
