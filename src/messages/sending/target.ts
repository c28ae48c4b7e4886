import type { ChannelPermissionName } from '../../access/permissions/channel-permissions.ts';
import type { ChannelActor } from '../../access/permissions/require.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { systemGroups } from '../../access/system-groups.ts';
import { type Guarded, holds, readsChannel, seesChannel } from '../../channels/access.ts';
import { ChannelDoesNotExistError, TopicPolicyError } from '../../channels/errors.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import { emptyTopicName, topicNamed } from '../../channels/topic-name.ts';
import type { Channel, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { unreadableAt } from '../../platform/names.ts';
import { isGuest } from '../../platform/roles.ts';
import { unprintableAt } from '../../platform/text.ts';
import { hasProtectedHistory } from '../access.ts';
import type { MessageSender } from '../sender.ts';
import { INHERITED } from '../topic-policies/policies.ts';
import { hasReceivedInTopic } from '../topics/topics.ts';
import { readTarget, type TargetChannel, type TargetRow } from './target-rows.ts';

/** Channel and topic to which a message is sent, with the state from which the permission was derived. */
export interface Target {
  readonly channel: TargetChannel;
  readonly topic: string;
  /** Version of the channel's row (`xmin`). */
  readonly channelVersion: string;
  /** Subscription on which the permission depends: the sender's own, or that of the bot's owner. Null if none is needed. */
  readonly subscription: { readonly userId: number; readonly version: string } | null;
  /** Whether the sender is subscribed to the channel. */
  readonly isSubscribed: boolean;
  readonly isMuted: boolean;
  /** Visibility policy of the sender for the topic. 0 if there is none. */
  readonly topicPolicy: number;
  /** Whether the topic has a message that the sender can read. */
  readonly topicIsKnown: boolean;
}

type TargetDb = Pick<Tx, 'user' | 'userGroup' | 'channel' | '$queryRaw'>;

/**
 * Converts the topic of a request to the form in which it is stored: trimmed and truncated to 60 code points. Names of the
 * empty topic become "".
 *
 * @throws BadRequestError if the topic has an unprintable character.
 */
export function requireTopic(realm: MessageSender['realm'], name: string): string {
  const position = unprintableAt(name.trim());
  if (position !== undefined) throw new BadRequestError(`Invalid character in topic, at position ${position}!`);
  return topicNamed(realm, name.trim());
}

/**
 * Checks that the name of a new topic has only readable characters.
 *
 * @throws BadRequestError with the position of the first unreadable character, from 1.
 */
export function requireReadableTopic(topic: string): void {
  const position = unreadableAt(topic);
  if (position !== undefined) throw new BadRequestError(`Invalid character in topic, at position ${position}!`);
}

/**
 * Returns the channel and topic if `sender` can currently send a message there. Uses one query, except in rare cases.
 *
 * @param topic The result of `requireTopic`.
 * @throws ChannelDoesNotExistError if the channel does not exist or the sender cannot see it.
 * @throws BadRequestError, TopicPolicyError if the sender cannot post in the channel or in the topic.
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
    requireTopicPolicy(sender.realm, row, topic);
  }
  const topicIsKnown =
    topicExists && hasProtectedHistory(row)
      ? await hasReceivedInTopic(db, { realmId: sender.realm.id, userId: sender.id }, row.id, topic)
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
  const groups = await systemGroups(db, sender.realm.id);
  const owner =
    sender.user.botOwnerId === null ? null : await readBotOwner(db, sender.realm.id, sender.user.botOwnerId);
  const self = { person: sender, groups, now };
  return owner === null
    ? [self]
    : [self, { ...self, person: { ...sender, id: owner.id, role: owner.role, user: owner } }];
}

/** Reads the owner of a bot. The bot can also post where its owner is permitted to. Null if the account no longer exists. */
const readBotOwner = (db: Pick<Tx, 'user'>, realmId: number, id: number): Promise<User | null> =>
  db.user.findUnique({ where: { realmId_id: { realmId, id } } });

/** Returns whether at least one of the users has the permission in the channel. */
export const holdAny = (holders: Holders, channel: Guarded, name: ChannelPermissionName): boolean =>
  holders.some((holder) => holds(holder, channel, name));

/** Whether the sender is subscribed to a channel and, if it is a bot, whether its owner is. */
interface Subscribed {
  readonly self: boolean;
  readonly owner: boolean;
}

/** Returns whether the sender can post without a subscription, if they also have the permission to post. */
const isOpenToSender = ([self]: Holders, channel: TargetChannel): boolean =>
  channel.isWebPublic ||
  (!channel.inviteOnly && !isGuest(self.person.role)) ||
  (!hasProtectedHistory(channel) && readsChannel(self, channel, false));

/**
 * Returns the reason why a sender cannot post in a channel: `unseen` if they cannot see it, `unread` if they cannot read it or
 * it is archived, `forbidden` if the permission is missing. Undefined if they can post.
 */
export function objectionToPosting(
  holders: Holders,
  channel: TargetChannel,
  subscribed: Subscribed,
): 'unseen' | 'unread' | 'forbidden' | undefined {
  const [self] = holders;
  if (channel.isArchived || !(isOpenToSender(holders, channel) || subscribed.self || subscribed.owner)) {
    return seesChannel(self, channel, subscribed.self) ? 'unread' : 'unseen';
  }
  return holdAny(holders, channel, 'can_send_message_group') ? undefined : 'forbidden';
}

/**
 * Checks that the sender can post in the channel.
 *
 * @param noChannel Creates the error for a channel that the sender cannot see.
 * @returns The subscription on which the permission depends. Null if it does not depend on a subscription.
 * @throws ChannelDoesNotExistError, BadRequestError if the sender cannot post.
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
  if (objection === 'unread') throw new BadRequestError(`Not authorized to send to channel '${row.name}'`);
  if (objection === 'forbidden') throw new BadRequestError('You do not have permission to post in this channel.');
  if (isOpenToSender(holders, row)) return null;
  if (own !== null) return { userId: sender.id, version: own };
  return { userId: sender.user.botOwnerId ?? 0, version: owners ?? '' };
}

/**
 * Checks that the user can create a topic in the channel.
 *
 * @throws BadRequestError if they cannot.
 */
export async function requireMayCreateTopic(
  db: TargetDb,
  sender: MessageSender,
  channel: Guarded,
  now: Date,
): Promise<void> {
  if (!(await holdsInChannel(db, sender, channel, 'can_create_topic_group', now))) {
    throw new BadRequestError('You do not have permission to create new topics in this channel.');
  }
}

/** Returns whether the user or, for a bot, its owner has the permission in the channel. */
export async function holdsInChannel(
  db: TargetDb,
  sender: MessageSender,
  channel: Guarded,
  name: ChannelPermissionName,
  now: Date,
): Promise<boolean> {
  return holdAny(await holdersOf(db, sender, now), channel, name);
}

/** Returns the policy for topic names in the channel: its own, or the organization's if it inherits. */
export const topicsPolicyOf = (
  realm: MessageSender['realm'],
  { topicsPolicy }: Pick<Channel, 'topicsPolicy'>,
): string => (topicsPolicy === 'inherit' ? realmSetting(realm, 'topics_policy') : topicsPolicy);

/**
 * Checks that the channel's policy allows this topic.
 *
 * @throws TopicPolicyError if messages in this topic cannot be sent or moved to the channel.
 */
export function requireTopicPolicy(
  realm: MessageSender['realm'],
  channel: Pick<Channel, 'topicsPolicy'>,
  topic: string,
): void {
  const policy = topicsPolicyOf(realm, channel);
  const name = emptyTopicName(realm);
  if (policy === 'disable_empty_topic' && topic === '') {
    throw new TopicPolicyError(`Sending messages to the ${name} is not allowed in this channel.`, name);
  }
  if (policy === 'empty_topic_only' && topic !== '') {
    throw new TopicPolicyError(`Only the ${name} topic is allowed in this channel.`, name);
  }
}
