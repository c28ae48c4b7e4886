import { organizationSetting } from '../../access/organization-settings.ts';
import type { ChannelPermissionName } from '../../access/permissions/channel-permissions.ts';
import type { ChannelActor } from '../../access/permissions/require.ts';
import { systemGroups } from '../../access/system-groups.ts';
import { type Guarded, hasProtectedHistory, holds, readsChannel, seesChannel } from '../../channels/access.ts';
import { ChannelDoesNotExistError, TopicPolicyError } from '../../channels/errors.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import { emptyTopicName, topicNamed } from '../../channels/topic-name.ts';
import type { Channel, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, ForbiddenError, ValidationError } from '../../platform/errors.ts';
import { unreadableAt } from '../../platform/names.ts';
import { isGuest } from '../../platform/roles.ts';
import { unprintableAt } from '../../platform/text.ts';
import type { MessageSender } from '../sender.ts';
import { INHERITED } from '../topic-policies/policies.ts';
import { hasReceivedInTopic } from '../topics/topics.ts';
import { readTarget, type TargetChannel, type TargetRow } from './target-rows.ts';

/** Channel and topic to which a message is sent, with the state from which the sender's permission was derived. */
export interface Target {
  readonly channel: TargetChannel;
  readonly topic: string;
  /** `xmin` of the channel's database row when the target was read. It changes with each update of the row. */
  readonly channelVersion: string;
  /**
   * Subscription on which the permission depends: the sender's own or, for a bot without a subscription, its owner's. Null if
   * the permission needs no subscription.
   */
  readonly subscription: { readonly userId: number; readonly version: string } | null;
  /** Whether the sender is subscribed to the channel. */
  readonly isSubscribed: boolean;
  readonly isMuted: boolean;
  /** Visibility policy of the sender for the topic. 0 if the sender has no policy for it. */
  readonly topicPolicy: number;
  /** Whether the topic has a message that the sender can read. */
  readonly topicIsKnown: boolean;
}

type TargetDb = Pick<Tx, 'user' | 'userGroup' | 'channel' | '$queryRaw'>;

/**
 * Converts the topic of a request to the form in which it is stored: trimmed and truncated to 60 code points. Names of the
 * empty topic become "".
 *
 * @throws ValidationError if the topic has an unprintable character.
 */
export function requireTopic(organization: MessageSender['organization'], name: string): string {
  const position = unprintableAt(name.trim());
  if (position !== undefined) throw invalidInTopic(position);
  return topicNamed(organization, name.trim());
}

/**
 * Returns the error for a topic with a character that is not allowed.
 *
 * @param position Position of the character in code points, from 1.
 */
export const invalidInTopic = (position: number): ValidationError =>
  new ValidationError(`Invalid character in topic, at position ${position}!`, { parameter: 'topic' });

/**
 * Checks that the name of a new topic has only readable characters.
 *
 * @throws ValidationError with the position of the first unreadable character, from 1.
 */
export function requireReadableTopic(topic: string): void {
  const position = unreadableAt(topic);
  if (position !== undefined) throw invalidInTopic(position);
}

/**
 * Returns the channel and topic if `sender` can currently send a message there. Uses one query, except in rare cases.
 *
 * @param topic The result of `requireTopic`.
 * @throws ChannelDoesNotExistError if the channel does not exist or the sender cannot see it.
 * @throws ForbiddenError if the sender can see the channel, but cannot post in it or create the topic.
 * @throws ConflictError if the channel is archived.
 * @throws ValidationError, TopicPolicyError if the topic is not allowed.
 */
export async function accessTarget(
  db: TargetDb,
  sender: MessageSender,
  reference: ChannelKey,
  topic: string,
  now: Date,
): Promise<Target> {
  const row = await readTarget(db, sender, reference, topic);
  const noChannel = () => new ChannelDoesNotExistError('id' in reference ? reference.id : reference.name);
  if (row === undefined) throw noChannel();
  const subscription = sender.user.isSystem ? null : await requireMayPost(db, sender, row, { now, noChannel });
  const topicExists = row.last_in_topic !== null;
  if (!sender.user.isSystem) {
    if (!topicExists) await requireMayCreateTopic(db, sender, row, now);
    requireTopicPolicy(sender.organization, row, topic);
  }
  const topicIsKnown =
    topicExists && hasProtectedHistory(row)
      ? await hasReceivedInTopic(db, { organizationId: sender.organization.id, userId: sender.id }, row.id, topic)
      : topicExists;
  if (!topicIsKnown) requireReadableTopic(topic);
  return {
    channel: row,
    topic,
    channelVersion: row.version,
    subscription,
    isSubscribed: row.subscription_version !== null,
    isMuted: row.is_muted === true,
    topicPolicy: row.topic_policy ?? INHERITED,
    topicIsKnown,
  };
}

/** Users whose permissions apply to a sender: the sender and, if it is a bot, its owner. */
export type Holders = readonly [self: ChannelActor, ...owner: ChannelActor[]];

/** Returns the users whose permissions apply to the sender: the sender and, if it is a bot, its owner. */
export async function holdersOf(db: TargetDb, sender: MessageSender, now: Date): Promise<Holders> {
  const groups = await systemGroups(db, sender.organization.id);
  const owner =
    sender.user.botOwnerId === null ? null : await readBotOwner(db, sender.organization.id, sender.user.botOwnerId);
  const self = { person: sender, groups, now };
  return owner === null
    ? [self]
    : [self, { ...self, person: { ...sender, id: owner.id, role: owner.role, user: owner } }];
}

/**
 * Reads the owner of a bot, because bots can also post where their owner is permitted to. Null if the owner no longer exists.
 */
const readBotOwner = (db: Pick<Tx, 'user'>, organizationId: number, id: number): Promise<User | null> =>
  db.user.findUnique({ where: { organizationId_id: { organizationId, id } } });

/** Returns whether at least one of the users has the permission in the channel. */
export const holdAny = (holders: Holders, channel: Guarded, name: ChannelPermissionName): boolean =>
  holders.some((holder) => holds(holder, channel, name));

/** Whether the sender is subscribed to a channel and, if the sender is a bot, whether its owner is subscribed. */
interface Subscribed {
  readonly self: boolean;
  readonly owner: boolean;
}

/** Returns whether the sender needs no subscription to post in the channel. The permission to post is checked separately. */
const isOpenToSender = ([self]: Holders, channel: TargetChannel): boolean =>
  channel.isWebPublic ||
  (!channel.inviteOnly && !isGuest(self.person.role)) ||
  (!hasProtectedHistory(channel) && readsChannel(self, channel, false));

/**
 * Returns the reason why a sender cannot post in a channel. `unseen`: they cannot see it. `archived`: they can see it, and it
 * is archived. `unread`: they can see it, but cannot read it. `forbidden`: they do not have the permission to post. Undefined
 * if they can post.
 */
export function objectionToPosting(
  holders: Holders,
  channel: TargetChannel,
  subscribed: Subscribed,
): 'unseen' | 'archived' | 'unread' | 'forbidden' | undefined {
  const [self] = holders;
  if (channel.isArchived || !(isOpenToSender(holders, channel) || subscribed.self || subscribed.owner)) {
    if (!seesChannel(self, channel, subscribed.self)) return 'unseen';
    return channel.isArchived ? 'archived' : 'unread';
  }
  return holdAny(holders, channel, 'can_send_message_group') ? undefined : 'forbidden';
}

/**
 * Checks that the sender can post in the channel.
 *
 * @param noChannel Creates the error for a channel that the sender cannot see.
 * @returns The subscription on which the permission depends. Null if it does not depend on a subscription.
 * @throws ChannelDoesNotExistError if the sender cannot see the channel.
 * @throws ConflictError if the channel is archived.
 * @throws ForbiddenError if the sender cannot read the channel, or lacks the permission to post.
 */
async function requireMayPost(
  db: TargetDb,
  sender: MessageSender,
  row: TargetRow,
  { now, noChannel }: { readonly now: Date; readonly noChannel: () => ChannelDoesNotExistError },
): Promise<Target['subscription']> {
  const holders = await holdersOf(db, sender, now);
  const own = row.subscription_version;
  const owners = row.owner_subscription_version;
  const objection = objectionToPosting(holders, row, { self: own !== null, owner: owners !== null });
  if (objection === 'unseen') throw noChannel();
  if (objection === 'archived') {
    throw new ConflictError(`Not authorized to send to channel '${row.name}'`, {
      parameter: 'stream',
      schemaMessage: 'The channel is archived.',
    });
  }
  if (objection === 'unread') throw mayNotSend(row.name);
  if (objection === 'forbidden') throw mayNotPost();
  if (isOpenToSender(holders, row)) return null;
  if (own !== null) return { userId: sender.id, version: own };
  return { userId: sender.user.botOwnerId ?? 0, version: owners ?? '' };
}

/** Returns the error for a channel that the sender can see, but whose messages they cannot read. */
export const mayNotSend = (channelName: string): ForbiddenError =>
  new ForbiddenError(`Not authorized to send to channel '${channelName}'`, { parameter: 'stream' });

/** Returns the error for a channel that the sender can read, but in which they do not have the permission to post. */
export const mayNotPost = (): ForbiddenError =>
  new ForbiddenError('You do not have permission to post in this channel.', {
    permission: 'can_send_message_group',
    parameter: 'stream',
  });

/**
 * Checks that the sender or, for a bot, its owner has the permission to create topics in the channel.
 *
 * @throws ForbiddenError if neither has the permission.
 */
export async function requireMayCreateTopic(
  db: TargetDb,
  sender: MessageSender,
  channel: Guarded,
  now: Date,
): Promise<void> {
  if (!(await holdsInChannel(db, sender, channel, 'can_create_topic_group', now))) {
    throw new ForbiddenError('You do not have permission to create new topics in this channel.', {
      permission: 'can_create_topic_group',
      parameter: 'topic',
    });
  }
}

/** Returns whether the sender or, for a bot, its owner has the permission in the channel. */
export async function holdsInChannel(
  db: TargetDb,
  sender: MessageSender,
  channel: Guarded,
  name: ChannelPermissionName,
  now: Date,
): Promise<boolean> {
  return holdAny(await holdersOf(db, sender, now), channel, name);
}

/** Returns the channel's policy on the empty topic. If the channel inherits its policy, returns the organization's policy. */
export const topicsPolicyOf = (
  organization: MessageSender['organization'],
  { topicsPolicy }: Pick<Channel, 'topicsPolicy'>,
): string => (topicsPolicy === 'inherit' ? organizationSetting(organization, 'topics_policy') : topicsPolicy);

/**
 * Checks that the channel's policy on the empty topic allows this topic.
 *
 * @throws TopicPolicyError if messages in this topic cannot be sent or moved to the channel.
 */
export function requireTopicPolicy(
  organization: MessageSender['organization'],
  channel: Pick<Channel, 'topicsPolicy'>,
  topic: string,
): void {
  const policy = topicsPolicyOf(organization, channel);
  const name = emptyTopicName(organization);
  if (policy === 'disable_empty_topic' && topic === '') {
    throw new TopicPolicyError(`Sending messages to the ${name} is not allowed in this channel.`, name);
  }
  if (policy === 'empty_topic_only' && topic !== '') {
    throw new TopicPolicyError(`Only the ${name} topic is allowed in this channel.`, name);
  }
}
