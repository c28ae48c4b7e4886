import { apiEmail } from '../../access/address.ts';
import type { Ctx } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { userSetting } from '../../access/user-settings.ts';
import { hasProtectedHistory } from '../../channels/access.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { users } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import { ConflictError, ForbiddenError, RequestVariableMissingError, ValidationError } from '../../platform/errors.ts';
import { accessMessageToChange } from '../access.ts';
import { accessMembers, RECIPIENTS } from '../direct.ts';
import { accessTarget, requireTopic } from '../sending/target.ts';
import { type TypingOp, typingEditEvents, typingEvents } from './events.ts';
import { typingRecipientsAmong, typingRecipientsIn } from './queries.ts';

/**
 * Recipients of the message that the viewer is typing: users, or a topic of a channel. A field is undefined if the request does
 * not contain it.
 */
export type TypingTo =
  | { readonly userIds: readonly number[] | undefined }
  | { readonly channel: ChannelKey | undefined; readonly topic: string | undefined };

/**
 * Notifies the recipients of an unsent message that the viewer has started or stopped typing the message.
 *
 * @throws RequestVariableMissingError if the users or the channel are missing.
 * @throws ValidationError if the list of users is empty, or the topic is missing.
 * @throws ConflictError if the viewer has disabled typing notifications.
 * @throws NotFoundError, ChannelDoesNotExistError, ForbiddenError, ConflictError or TopicPolicyError if the viewer cannot send
 *   a message to the recipients.
 */
export async function setTyping(ctx: Ctx, op: TypingOp, to: TypingTo): Promise<void> {
  if ('userIds' in to) await setTypingDirect(ctx, op, to.userIds);
  else await setTypingInChannel(ctx, op, to.channel, to.topic);
}

async function setTypingDirect(ctx: Ctx, op: TypingOp, userIds: readonly number[] | undefined): Promise<void> {
  const { app, work, viewer } = ctx;
  if (userIds === undefined) throw new RequestVariableMissingError('to');
  if (userIds.length === 0) {
    throw new ValidationError("Empty 'to' list", {
      parameter: RECIPIENTS,
      minimum: 1,
      schemaMessage: 'The list of recipients is empty.',
    });
  }
  requireTypingEnabled(ctx, 'direct');
  const members = await accessMembers(work.db, viewer, { userIds }, app.now());
  const recipients = members.filter((member) => userSetting(member, 'receives_typing_notifications'));
  const payload = {
    sender: { user_id: viewer.id, email: apiEmail(viewer.user) },
    recipients: members.map((member) => ({ user_id: member.id, email: apiEmail(member) })),
    stream_id: null,
    topic: '',
    empty_topic_name: emptyTopicName(viewer.organization),
  };
  await transact(ctx, async (_tx, emit) => emit(typingEvents[op](payload), users(recipients.map(({ id }) => id))));
}

async function setTypingInChannel(
  ctx: Ctx,
  op: TypingOp,
  key: ChannelKey | undefined,
  name: string | undefined,
): Promise<void> {
  const { app, work, viewer } = ctx;
  if (key === undefined) throw new RequestVariableMissingError('stream_id');
  if (name === undefined) throw new ValidationError('Missing topic', { parameter: 'topic' });
  requireTypingEnabled(ctx, 'channel');
  const topic = requireTopic(viewer.organization, name);
  const { channel } = await accessTarget(work.db, viewer, key, topic, app.now());
  const recipients = await typingRecipientsIn(ctx.work.db, ctx.organizationId, channel.id, null);
  if (recipients.length === 0) return;
  const payload = {
    sender: { user_id: viewer.id, email: apiEmail(viewer.user) },
    recipients: null,
    stream_id: channel.id,
    topic,
    empty_topic_name: emptyTopicName(viewer.organization),
  };
  await transact(ctx, async (_tx, emit) => emit(typingEvents[op](payload), users(recipients)));
}

/**
 * Notifies users who can read one of the viewer's messages that the viewer has started or stopped editing the message.
 *
 * @throws NotFoundError if the viewer cannot read the message, or its channel is archived.
 * @throws ForbiddenError if the viewer cannot edit the message.
 * @throws ConflictError if the viewer has disabled typing notifications.
 */
export async function setEditTyping(ctx: Ctx, messageId: number, op: TypingOp): Promise<void> {
  const { app, work, viewer } = ctx;
  const message = await accessMessageToChange(work.db, viewer, messageId, app.now());
  requireEditable(ctx, message);
  requireTypingEnabled(ctx, message.channel === null ? 'direct' : 'channel');
  const { channel, conversation, topic } = message;
  const recipients =
    channel === null
      ? await typingRecipientsAmong(ctx.work.db, ctx.organizationId, conversation?.memberIds ?? [])
      : await typingRecipientsIn(
          ctx.work.db,
          ctx.organizationId,
          channel.id,
          hasProtectedHistory(channel) ? messageId : null,
        );
  if (recipients.length === 0) return;
  const recipient =
    channel === null
      ? { type: 'direct' as const, user_ids: recipients }
      : { type: 'channel' as const, channel_id: channel.id, topic };
  const payload = {
    sender_id: viewer.id,
    message_id: messageId,
    recipient,
    empty_topic_name: emptyTopicName(viewer.organization),
  };
  await transact(ctx, async (_tx, emit) => emit(typingEditEvents[op](payload), users(recipients)));
}

/**
 * Checks that the viewer can begin to edit the message. Unlike for saving an edit, there is no grace period, because an edit
 * that begins after the time limit cannot be finished in time.
 *
 * @throws ForbiddenError if the viewer cannot edit the message.
 */
function requireEditable({ app, viewer }: Ctx, { senderId, sentAt }: { senderId: number; sentAt: Date }): void {
  if (!organizationSetting(viewer.organization, 'allow_message_editing')) {
    throw mayNotEdit('Your organization has turned off message editing');
  }
  if (senderId !== viewer.id) throw mayNotEdit("You don't have permission to edit this message");
  const limit = organizationSetting(viewer.organization, 'message_content_edit_limit_seconds');
  if (limit !== null && app.now().getTime() - sentAt.getTime() > limit * 1000) {
    throw mayNotEdit('The time limit for editing this message has passed');
  }
}

const mayNotEdit = (message: string): ForbiddenError => new ForbiddenError(message, { parameter: 'message_id' });

function requireTypingEnabled({ viewer }: Ctx, kind: 'direct' | 'channel'): void {
  const setting = kind === 'direct' ? 'send_private_typing_notifications' : 'send_stream_typing_notifications';
  if (userSetting(viewer.user, setting)) return;
  throw new ConflictError(
    `User has disabled typing notifications for ${kind === 'direct' ? 'direct' : 'channel'} messages`,
  );
}
