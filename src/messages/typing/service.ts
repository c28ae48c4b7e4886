import { apiEmail } from '../../access/address.ts';
import type { Ctx } from '../../access/context.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { userSetting } from '../../access/user-settings.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { users } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import { BadRequestError, RequestVariableMissingError } from '../../platform/errors.ts';
import { accessMessageToChange, hasProtectedHistory } from '../access.ts';
import { accessMembers } from '../direct.ts';
import { accessTarget, requireTopic } from '../sending/target.ts';
import { type TypingOp, typingEditEvents, typingEvents } from './events.ts';
import { listenersOf, willingAmong } from './queries.ts';

/**
 * Recipients of the message that the viewer is typing: users, or a topic of a channel. Undefined fields are missing in the
 * request.
 */
export type TypingTo =
  | { readonly userIds: readonly number[] | undefined }
  | { readonly channel: ChannelKey | undefined; readonly topic: string | undefined };

/**
 * Notifies the recipients of a message that the viewer has started or stopped typing it.
 *
 * @throws RequestVariableMissingError if the users or the channel are missing.
 * @throws BadRequestError if the viewer has disabled typing notifications, or cannot send a message to the recipients.
 * @throws ChannelDoesNotExistError, TopicPolicyError as in `accessTarget`.
 */
export async function setTyping(ctx: Ctx, op: TypingOp, to: TypingTo): Promise<void> {
  if ('userIds' in to) await setTypingDirect(ctx, op, to.userIds);
  else await setTypingInChannel(ctx, op, to.channel, to.topic);
}

async function setTypingDirect(ctx: Ctx, op: TypingOp, userIds: readonly number[] | undefined): Promise<void> {
  const { app, viewer } = ctx;
  if (userIds === undefined) throw new RequestVariableMissingError('to');
  if (userIds.length === 0) throw new BadRequestError("Empty 'to' list");
  requireWilling(ctx, 'direct');
  const members = await accessMembers(app.db, viewer, { userIds }, app.now());
  const listeners = members.filter((member) => userSetting(member, 'receives_typing_notifications'));
  const payload = {
    sender: { user_id: viewer.id, email: apiEmail(viewer.user) },
    recipients: members.map((member) => ({ user_id: member.id, email: apiEmail(member) })),
    stream_id: null,
    topic: '',
    empty_topic_name: emptyTopicName(viewer.realm),
  };
  await transact(ctx, async (_tx, emit) => emit(typingEvents[op](payload), users(listeners.map(({ id }) => id))));
}

async function setTypingInChannel(
  ctx: Ctx,
  op: TypingOp,
  key: ChannelKey | undefined,
  name: string | undefined,
): Promise<void> {
  const { app, viewer } = ctx;
  if (key === undefined) throw new RequestVariableMissingError('stream_id');
  if (name === undefined) throw new BadRequestError('Missing topic');
  requireWilling(ctx, 'channel');
  const topic = requireTopic(viewer.realm, name);
  const { channel } = await accessTarget(app.db, viewer, key, topic, app.now());
  const listeners = await listenersOf(ctx.app.db, ctx.realmId, channel.id, null);
  if (listeners.length === 0) return;
  const payload = {
    sender: { user_id: viewer.id, email: apiEmail(viewer.user) },
    recipients: null,
    stream_id: channel.id,
    topic,
    empty_topic_name: emptyTopicName(viewer.realm),
  };
  await transact(ctx, async (_tx, emit) => emit(typingEvents[op](payload), users(listeners)));
}

/**
 * Notifies the users who can read one of the viewer's messages that the viewer has started or stopped editing it.
 *
 * @throws BadRequestError if the viewer cannot edit the message or has disabled typing notifications.
 */
export async function setEditTyping(ctx: Ctx, messageId: number, op: TypingOp): Promise<void> {
  const { app, viewer } = ctx;
  const message = await accessMessageToChange(app.db, viewer, messageId, app.now());
  requireEditable(ctx, message);
  requireWilling(ctx, message.channel === null ? 'direct' : 'channel');
  const { channel, conversation, topic } = message;
  const listeners =
    channel === null
      ? await willingAmong(ctx.app.db, ctx.realmId, conversation?.memberIds ?? [])
      : await listenersOf(ctx.app.db, ctx.realmId, channel.id, hasProtectedHistory(channel) ? messageId : null);
  if (listeners.length === 0) return;
  const recipient =
    channel === null
      ? { type: 'direct' as const, user_ids: listeners }
      : { type: 'channel' as const, channel_id: channel.id, topic };
  const payload = {
    sender_id: viewer.id,
    message_id: messageId,
    recipient,
    empty_topic_name: emptyTopicName(viewer.realm),
  };
  await transact(ctx, async (_tx, emit) => emit(typingEditEvents[op](payload), users(listeners)));
}

/**
 * Checks that the viewer can begin to edit the message. There is no grace period, unlike when the edit is saved, because an
 * edit that begins after the time limit cannot be finished in time.
 *
 * @throws BadRequestError if they cannot.
 */
function requireEditable({ app, viewer }: Ctx, { senderId, sentAt }: { senderId: number; sentAt: Date }): void {
  if (!realmSetting(viewer.realm, 'allow_message_editing')) {
    throw new BadRequestError('Your organization has turned off message editing');
  }
  if (senderId !== viewer.id) throw new BadRequestError("You don't have permission to edit this message");
  const limit = realmSetting(viewer.realm, 'message_content_edit_limit_seconds');
  if (limit !== null && app.now().getTime() - sentAt.getTime() > limit * 1000) {
    throw new BadRequestError('The time limit for editing this message has passed');
  }
}

function requireWilling({ viewer }: Ctx, kind: 'direct' | 'channel'): void {
  const setting = kind === 'direct' ? 'send_private_typing_notifications' : 'send_stream_typing_notifications';
  if (userSetting(viewer.user, setting)) return;
  throw new BadRequestError(
    `User has disabled typing notifications for ${kind === 'direct' ? 'direct' : 'channel'} messages`,
  );
}
