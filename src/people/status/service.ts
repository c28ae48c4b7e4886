import type { Ctx } from '../../access/context.ts';
import { insufficientPermission } from '../../access/permissions/require.ts';
import { requirePerson } from '../../access/roles.ts';
import { everyone } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { User, UserStatus } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, ValidationError } from '../../platform/errors.ts';
import { requireDirectionKept } from '../../platform/names.ts';
import { ADMINISTRATOR, isAdministrator } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';
import { type Emoji, requireEmoji } from '../emoji/emoji.ts';
import { lockUser } from '../locks.ts';
import { writeSettings } from '../settings-write.ts';
import { type StatusChange, userStatusSet } from '../status-events.ts';
import { accessUser, noSuchUser } from '../users.ts';
import { isAway } from './state.ts';
import { toWire, type WireStatus } from './wire.ts';

const MAX_TEXT_LENGTH = 60;

/** Changes to a status. Absent properties are not changed. */
export interface StatusEdit {
  /** The text: at most 60 code points. "" clears it. */
  readonly statusText?: string | undefined;
  /** Name of the emoji in the status. "" clears the emoji. */
  readonly emojiName?: string | undefined;
  /** Code of the emoji in its namespace. If absent, it is looked up by `emojiName`. */
  readonly emojiCode?: string | undefined;
  readonly reactionType?: string | undefined;
  /** Deprecated: whether the user hides their presence. */
  readonly away?: boolean | undefined;
}

/**
 * Sets the viewer's own status and notifies all users, even if the status did not change.
 *
 * @throws ForbiddenError for a bot.
 * @throws ValidationError if nothing is given, or the text is too long.
 * @throws NotFoundError, ConflictError, ValidationError if the emoji does not exist, is deactivated, or its name, code and type
 *   do not match.
 */
export async function setOwnStatus(ctx: Ctx, edit: StatusEdit): Promise<WireStatus> {
  requirePerson(ctx);
  return setStatus(ctx, ctx.viewer.user, edit, requireStatusText(edit));
}

/**
 * Sets a user's status, as an administrator, and notifies all users.
 *
 * @throws NotFoundError if the user is a bot or does not exist.
 * @throws ForbiddenError if the viewer is not an administrator.
 * @throws ConflictError if the user is deactivated.
 * @throws ValidationError if nothing is given, or the text is too long.
 * @throws NotFoundError, ConflictError, ValidationError if the emoji does not exist, is deactivated, or its name, code and type
 *   do not match.
 */
export async function setStatusOf(ctx: Ctx, userId: number, edit: StatusEdit): Promise<WireStatus> {
  const text = requireStatusText(edit);
  const target = await accessUser(ctx, userId);
  if (target.botType !== null) throw noSuchUser(userId);
  const parameter = 'user_id';
  if (!isAdministrator(ctx.viewer.role)) throw insufficientPermission({ role: ADMINISTRATOR, parameter });
  if (!target.isActive) throw new ConflictError('User is deactivated', { parameter });
  return setStatus(ctx, target, edit, text);
}

/** Returns the status of a user. @throws NotFoundError if there is no such user. */
export async function readStatus(ctx: Ctx, userId: number): Promise<WireStatus> {
  const user = await accessUser(ctx, userId);
  return toWire(
    await ctx.work.db.userStatus.findUnique({
      where: { organizationId_userId: { organizationId: user.organizationId, userId: user.id } },
    }),
    isAway(user),
  );
}

function requireStatusText({ statusText }: StatusEdit): string | undefined {
  if (statusText === undefined) return undefined;
  const text = requireText('status_text', statusText, { strip: true, max: MAX_TEXT_LENGTH });
  // The status is displayed after the user's name on the same line, so it must not change the text direction.
  requireDirectionKept('status_text', text);
  return text;
}

const NO_EMOJI = { name: '', code: '', type: 'unicode_emoji' } as const;

/** Returns the emoji to set. Undefined: the status keeps its current emoji. */
async function emojiOf({ work, organizationId }: Ctx, edit: StatusEdit): Promise<Emoji | undefined> {
  const { emojiName, emojiCode, reactionType } = edit;
  if (emojiName !== undefined) {
    const reference = { name: emojiName, code: emojiCode, type: reactionType };
    return emojiName === '' ? NO_EMOJI : requireEmoji(work.db, organizationId, reference);
  }
  if (emojiCode === undefined && reactionType === undefined) return undefined;
  throw new ValidationError('Client must pass emoji_name if they pass either emoji_code or reaction_type.', {
    parameter: 'emoji_name',
    schemaMessage: 'The emoji name is required with an emoji code or a reaction type.',
  });
}

async function setStatus(ctx: Ctx, target: User, edit: StatusEdit, text: string | undefined): Promise<WireStatus> {
  const { away } = edit;
  if (away === undefined && text === undefined && edit.emojiName === undefined) {
    throw new ValidationError('Client did not pass any new values.');
  }
  const emoji = await emojiOf(ctx, edit);
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, target);
    const user = await tx.user.findUniqueOrThrow({
      where: { organizationId_id: { organizationId: target.organizationId, id: target.id } },
    });
    const how = { now: ctx.app.now(), isOwn: user.id === ctx.viewer.id };
    const after = away === undefined ? user : await writeSettings(tx, emit, user, { presence_enabled: !away }, how);
    const row =
      text === undefined && emoji === undefined
        ? await findStatus(tx, user)
        : await save(tx, ctx, user, { text, emoji });
    if (text !== undefined || emoji !== undefined) {
      // Without the text, because entries are not erased with their users.
      const changes = {
        ...(text !== undefined && { status_text: {} }),
        ...(emoji !== undefined && { status_emoji: {} }),
      };
      emit.audit({
        action: 'user_profile_changed',
        ...{ objectType: 'user', objectId: user.id, ownerId: user.id },
        changes,
      });
    }
    // If `away` changes, `writeSettings` has already published it.
    publish(emit, user, { away: isAway(after) === isAway(user) ? away : undefined, text, emoji });
    return toWire(row, isAway(after));
  });
}

const findStatus = (tx: Tx, { organizationId, id }: User) =>
  tx.userStatus.findUnique({ where: { organizationId_userId: { organizationId, userId: id } } });

function save(
  tx: Tx,
  { app }: Ctx,
  { id, organizationId }: User,
  set: { text: string | undefined; emoji: Emoji | undefined },
): Promise<UserStatus> {
  const { text, emoji } = set;
  const data = {
    updatedAt: app.now(),
    ...(text !== undefined && { text }),
    ...(emoji !== undefined && { emojiName: emoji.name, emojiCode: emoji.code, reactionType: emoji.type }),
  };
  return tx.userStatus.upsert({
    where: { organizationId_userId: { organizationId, userId: id } },
    create: { ...data, userId: id, organizationId },
    update: data,
  });
}

function publish(
  emit: Emit,
  { id }: User,
  { away, text, emoji }: { away: boolean | undefined; text: string | undefined; emoji: Emoji | undefined },
): void {
  const change: StatusChange = {
    ...(away !== undefined && { away }),
    ...(text !== undefined && { status_text: text }),
    // If the emoji was cleared, all three properties are empty strings.
    ...(emoji !== undefined && {
      emoji_name: emoji.name,
      emoji_code: emoji.code,
      reaction_type: emoji.name === '' ? '' : emoji.type,
    }),
  };
  if (Object.keys(change).length > 0) emit(userStatusSet(id, change), everyone());
}
