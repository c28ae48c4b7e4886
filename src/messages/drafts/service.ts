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
import { ConflictError, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { MAX_MESSAGE_LENGTH } from '../../platform/limits.ts';
import { cutText, lengthOf, refuseNullBytes } from '../../platform/text.ts';
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

/**
 * Maximum number of drafts in a request. It equals the maximum number of drafts of a user. Requests with more are refused with
 * `ValidationError`.
 */
const MAX_PER_REQUEST = TOTALS.drafts.max;
/**
 * Maximum number of recipients of a draft: twice the maximum number of members of a direct conversation. Drafts with more are
 * refused with `ValidationError`.
 */
const MAX_ADDRESSEES = 500;

/** Last second of the year 9999, in UNIX seconds. Date libraries disagree on later times. */
const LAST_TIMESTAMP = 253_402_300_799;

/**
 * Returns the filter for drafts that the viewer can see: only their own.
 *
 * @throws ConflictError if the viewer has disabled the synchronization of drafts.
 */
export function visibleTo({ viewer }: Ctx): Prisma.DraftWhereInput {
  if (!userSetting(viewer.user, 'enable_drafts_synchronization')) {
    throw new ConflictError('User has disabled synchronizing drafts.');
  }
  return { organizationId: viewer.organization.id, authorId: viewer.id };
}

/**
 * Reads one of the viewer's drafts.
 *
 * @throws NotFoundError if no draft has this id, or it belongs to another user.
 * @throws ConflictError if the viewer has disabled the synchronization of drafts.
 */
export async function accessDraft(ctx: Ctx, draftId: number): Promise<Draft> {
  const mine = visibleTo(ctx);
  const draft = isRowId(draftId) ? await ctx.work.db.draft.findFirst({ where: { id: draftId, ...mine } }) : null;
  if (draft === null) throw noSuchDraft(draftId);
  return draft;
}

const noSuchDraft = (id: number): NotFoundError =>
  new NotFoundError('Draft does not exist', { type: 'Draft', id, parameter: 'draft_id', status: 404 });

/**
 * Reads the viewer's drafts, oldest edit first. If there are more than 1,000, only the 1,000 drafts that were edited last are
 * returned.
 *
 * @throws ConflictError if the viewer has disabled the synchronization of drafts.
 */
export async function listDrafts(ctx: Ctx): Promise<Draft[]> {
  const orderBy: Prisma.DraftOrderByWithRelationInput[] = [{ lastEditedAt: 'asc' }, { id: 'asc' }];
  return ctx.work.db.draft.findMany({ where: visibleTo(ctx), orderBy, take: -TOTALS.drafts.max });
}

/**
 * Saves drafts for the viewer, all or none, and notifies the viewer's clients with one event.
 *
 * @returns The saved drafts, in the given order.
 * @throws ConflictError if the viewer has disabled the synchronization of drafts.
 * @throws ValidationError for more than 1,000 drafts.
 * @throws ValidationError if a draft is blank, contains a null byte, or has a timestamp before 1970 or after 9999. Also thrown
 *   if it names no channel, several channels, or more than 500 users.
 * @throws NotFoundError if a draft names a channel that the viewer cannot read, or an unknown user.
 * @throws TotalReachedError if the viewer would have more than 1,000 drafts, or more than 500,000 characters in them.
 */
export async function createDrafts(ctx: Ctx, drafts: readonly NewDraft[]): Promise<Draft[]> {
  visibleTo(ctx);
  if (drafts.length > MAX_PER_REQUEST) {
    throw new ValidationError(`A request can save at most ${MAX_PER_REQUEST} drafts`, {
      parameter: 'drafts',
      maximum: MAX_PER_REQUEST,
    });
  }
  const data = await toRows(ctx, drafts, (i) => `drafts[${i}]`);
  if (data.length === 0) return [];
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    const saved = await tx.draft.createManyAndReturn({ data });
    requireWithin('drafts', await tx.draft.count({ where: visibleTo(ctx) }));
    await requireLength(tx, ctx);
    // Ids are assigned in the order of the rows, but the rows can be returned in any order.
    saved.sort((a, b) => a.id - b.id);
    emit(draftsAdded(saved, ctx.viewer.organization), users([ctx.viewer.id]));
    return saved;
  });
}

/**
 * Replaces one of the viewer's drafts and notifies the viewer's clients.
 *
 * @param draft The complete new draft. It replaces every field of the old draft.
 * @throws NotFoundError if no draft has this id, or it belongs to another user.
 * @throws ConflictError if the viewer has disabled the synchronization of drafts.
 * @throws ValidationError if the draft is blank, contains a null byte, names no channel, several channels or more than 500
 *   users, or has a timestamp before 1970 or after 9999.
 * @throws NotFoundError if the draft names a channel that the viewer cannot read, or an unknown user.
 * @throws TotalReachedError if the viewer would have more than 500,000 characters in drafts.
 */
export async function updateDraft(ctx: Ctx, draftId: number, draft: NewDraft): Promise<Draft> {
  await accessDraft(ctx, draftId);
  const [row] = await toRows(ctx, [draft], () => 'draft');
  if (row === undefined) throw new Error('The draft was not converted to a row');
  // The organization and the author of a row never change.
  const { organizationId: _, authorId: __, ...data } = row;
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    const where = { id: draftId, ...visibleTo(ctx) };
    const before = await tx.draft.findFirst({ where, select: { content: true } });
    const [saved] = await tx.draft.updateManyAndReturn({ where, data });
    if (before === null || saved === undefined) throw noSuchDraft(draftId);
    if (lengthOf(saved.content) > lengthOf(before.content)) await requireLength(tx, ctx);
    emit(draftUpdated(saved, ctx.viewer.organization), users([ctx.viewer.id]));
    return saved;
  });
}

/**
 * Deletes one of the viewer's drafts and notifies the viewer's clients.
 *
 * @throws NotFoundError if no draft has this id, or it belongs to another user.
 * @throws ConflictError if the viewer has disabled the synchronization of drafts.
 */
export async function deleteDraft(ctx: Ctx, draftId: number): Promise<void> {
  const mine = visibleTo(ctx);
  if (!isRowId(draftId)) throw noSuchDraft(draftId);
  await transact(ctx, async (tx, emit) => {
    const { count } = await tx.draft.deleteMany({ where: { id: draftId, ...mine } });
    if (count === 0) throw noSuchDraft(draftId);
    emit(draftRemoved(draftId), users([ctx.viewer.id]));
  });
}

/**
 * Checks that the viewer's drafts have at most 500,000 code points in total. The caller must have locked the viewer's row.
 *
 * @throws TotalReachedError if the drafts are longer.
 */
async function requireLength(tx: Tx, { viewer }: Ctx): Promise<void> {
  requireWithin('drafts_total_length', await draftsLength(tx, viewer.organization.id, viewer.id));
}

/**
 * Checks drafts and converts them to database rows, in the given order.
 *
 * @param nameOf Returns a name for the draft at an index, which error messages use.
 * @throws ValidationError, NotFoundError if a draft is invalid.
 */
async function toRows(ctx: Ctx, drafts: readonly NewDraft[], nameOf: (index: number) => string) {
  const rows = drafts.map((draft, i) => toRow(ctx, draft, nameOf(i)));
  const keyed = drafts.flatMap(({ to }, i) => (isKey(to) ? [{ to, name: nameOf(i) }] : []));
  const keys = keyed.map(({ to }) => to);
  const ids = await channelIdsOf(ctx, keys, (i) => `${keyed[i]?.name}["stream"]`);
  const idOf = new Map(keys.map((key, i) => [key, ids[i] ?? 0]));
  const addressed = rows.map(({ to, ...row }) => ({ ...row, to: isKey(to) ? [idOf.get(to) ?? 0] : [...to] }));
  await requireAddressees(ctx, addressed);
  return addressed;
}

const isKey = (to: NewDraft['to']): to is ChannelKey => 'id' in to || 'name' in to;

function toRow({ app, viewer }: Ctx, draft: NewDraft, name: string) {
  const { type, to, topic, content, timestamp } = draft;
  refuseNullBytes('Message', content, `${name}["content"]`);
  if (content.trim() === '')
    throw new ValidationError(`${name}["content"] cannot be blank`, { parameter: `${name}["content"]` });
  if (type === 'private' && !isKey(to) && to.length > MAX_ADDRESSEES) {
    throw new ValidationError(`${name}["to"] is too long (limit: ${MAX_ADDRESSEES})`, {
      parameter: `${name}["to"]["direct"]`,
      maximum: MAX_ADDRESSEES,
      schemaMessage: `A draft can have at most ${MAX_ADDRESSEES} recipients.`,
    });
  }
  if (type === 'stream') {
    refuseNullBytes('Topic', topic, `${name}["topic"]`);
    if (!isKey(to) && to.length !== 1) {
      throw new ValidationError('Must specify exactly 1 channel ID for channel messages', {
        parameter: `${name}["to"]`,
      });
    }
  }
  return {
    organizationId: viewer.organization.id,
    authorId: viewer.id,
    type,
    to: type === '' ? [] : to,
    topic: type === 'stream' ? topicNamed(viewer.organization, topic) : '',
    content: cutText(content, MAX_MESSAGE_LENGTH, '\n[message truncated]'),
    lastEditedAt: timestamp == null ? app.now() : toDate(timestamp, `${name}["timestamp"]`),
  };
}

function toDate(seconds: number, name: string): Date {
  if (seconds < 0) {
    throw new ValidationError('Timestamp must not be negative.', {
      parameter: name,
      schemaMessage: 'The time must not be before 1970.',
    });
  }
  if (seconds > LAST_TIMESTAMP) throw new ValidationError(`${name} is too large`, { parameter: name });
  return new Date(seconds * 1000);
}

/**
 * Checks that the viewer can read the target channels of all drafts, and that the target users exist. Uses one query for
 * channels and one for users.
 *
 * @throws NotFoundError if a channel cannot be read or a user does not exist.
 */
async function requireAddressees(ctx: Ctx, rows: readonly { type: DraftType; to: number[] }[]): Promise<void> {
  const named = (type: DraftType) => [...new Set(rows.flatMap((row) => (row.type === type ? row.to : [])))];
  const [channelIds, userIds] = [named('stream'), named('private')];
  const readable = await readableChannelIds(ctx, channelIds);
  const refused = channelIds.find((id) => !readable.has(id));
  if (refused !== undefined) throw invalidChannelId(refused);
  const known = new Set(await existingUserIds(ctx, userIds));
  const unknown = userIds.find((id) => !known.has(id));
  if (unknown !== undefined) throw new NotFoundError(`Invalid user ID ${unknown}`, { type: 'User', id: unknown });
}

async function existingUserIds({ work, viewer }: Ctx, userIds: readonly number[]): Promise<number[]> {
  const ids = userIds.filter(isRowId);
  if (ids.length === 0) return [];
  const where = { organizationId: viewer.organization.id, id: { in: ids } };
  const rows = await work.db.user.findMany({ where, select: { id: true } });
  return rows.map(({ id }) => id);
}
