import type { ChannelPermissionName } from '../../access/permissions/channel-permissions.ts';
import type { ChannelActor } from '../../access/permissions/require.ts';
import { systemGroups } from '../../access/permissions/system-groups.ts';
import { realmSetting } from '../../access/realm-settings.ts';
import { type Guarded, holds, readsChannel, seesChannel } from '../../channels/access.ts';
import { ChannelDoesNotExistError, TopicPolicyError } from '../../channels/errors.ts';
import type { ChannelKey } from '../../channels/keys.ts';
import { emptyTopicName, topicNamed } from '../../channels/topic-name.ts';
import type { Channel } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isGuest } from '../../platform/roles.ts';
import { unprintableAt } from '../../platform/text.ts';
import { hasProtectedHistory } from '../access.ts';
import { INHERITED } from '../topic-policies/policies.ts';
import { hasReceivedInTopic } from '../topics/topics.ts';
import { botOwner, type Sender } from './sender.ts';
import { readTarget, type TargetChannel, type TargetRow } from './target-rows.ts';

/** A channel and topic to send to, and what the right to do so was read from. */
export interface Target {
  readonly channel: TargetChannel;
  readonly topic: string;
  /** Of the channel's row (xmin). */
  readonly channelVersion: string;
  /** The subscription that gives the right: the sender's, or their owner's; null when none is needed. */
  readonly subscription: { readonly userId: number; readonly version: string } | null;
  /** Whether the sender is subscribed. */
  readonly isSubscribed: boolean;
  readonly isMuted: boolean;
  /** How visible the sender has made the topic: 0 for no choice. */
  readonly topicPolicy: number;
  /** Whether there is a message in the topic that the sender may see. */
  readonly topicIsKnown: boolean;
}

type TargetDb = Pick<Tx, 'user' | 'userGroup' | 'channel' | '$queryRaw'>;

/**
 * A topic as a client named it, as it is stored: stripped, cut to 60 code points, "" for the names of the empty topic.
 *
 * @throws BadRequestError when a character of it cannot be printed.
 */
export function requireTopic(realm: Sender['realm'], name: string): string {
  const position = unprintableAt(name.trim());
  if (position !== undefined) throw new BadRequestError(`Invalid character in topic, at position ${position}!`);
  return topicNamed(realm, name.trim());
}

/**
 * The channel and topic, when `sender` may send a message there now. One query, but for what few need.
 *
 * @param topic As `requireTopic` made it.
 * @throws ChannelDoesNotExistError when there is no such channel, or the sender may not know of it.
 * @throws BadRequestError, TopicPolicyError when the sender may not post there, or not in this topic.
 */
export async function accessTarget(
  db: TargetDb,
  sender: Sender,
  reference: ChannelKey,
  topic: string,
  now: Date,
): Promise<Target> {
  const row = await readTarget(db, sender, reference, topic);
  const noChannel = () => new ChannelDoesNotExistError('id' in reference ? reference.id : reference.name);
  if (row === undefined) throw noChannel();
  const subscription = await requireMayPost(db, sender, row, { now, noChannel });
  await requireTopicAllowed(db, sender, row, topic, now);
  return {
    channel: row,
    topic,
    channelVersion: row.version,
    subscription,
    isSubscribed: row.subscription_version !== null,
    isMuted: row.is_muted === true,
    topicPolicy: row.topic_policy ?? INHERITED,
    topicIsKnown: await isKnown(db, sender, row, topic),
  };
}

/** Who holds somebody's permissions: they themselves first and, if they are a bot, its owner. */
export type Holders = readonly [self: ChannelActor, ...owner: ChannelActor[]];

/** The sender as one who holds permissions; a bot holds those of its owner besides. */
export async function holdersOf(db: TargetDb, sender: Sender, now: Date): Promise<Holders> {
  const groups = await systemGroups(db, sender.realm.id);
  const owner = await botOwner(db, sender);
  const self = { person: sender, groups, now };
  return owner === null
    ? [self]
    : [self, { ...self, person: { ...sender, id: owner.id, role: owner.role, user: owner } }];
}

/** Whether one of them holds the permission in the channel. */
export const holdAny = (holders: Holders, channel: Guarded, name: ChannelPermissionName): boolean =>
  holders.some((holder) => holds(holder, channel, name));

/** Who is subscribed to a channel: the sender, and if that is a bot its owner. */
interface Subscribed {
  readonly self: boolean;
  readonly owner: boolean;
}

/** Whether the sender gets to the channel without a subscription. */
const isOpenToSender = ([self]: Holders, channel: TargetChannel): boolean =>
  channel.isWebPublic ||
  (!channel.inviteOnly && !isGuest(self.person.role)) ||
  (!hasProtectedHistory(channel) && readsChannel(self, channel, false));

/** What keeps somebody from sending to a channel: they do not see it, do not read it, or lack the permission. */
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
 * @param noChannel Makes what is thrown for a channel that the sender does not see.
 * @returns The subscription that the right depends on, if it does.
 */
async function requireMayPost(
  db: TargetDb,
  sender: Sender,
  row: TargetRow,
  { now, noChannel }: { readonly now: Date; readonly noChannel: () => ChannelDoesNotExistError },
): Promise<Target['subscription']> {
  if (sender.user.isSystem) return null;
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

async function requireTopicAllowed(
  db: TargetDb,
  sender: Sender,
  row: TargetRow,
  topic: string,
  now: Date,
): Promise<void> {
  if (sender.user.isSystem) return;
  if (row.last_in_topic === null) await requireMayCreateTopic(db, sender, row, now);
  requireTopicPolicy(sender.realm, row, topic);
}

/** @throws BadRequestError unless the user may start a topic in the channel. */
export async function requireMayCreateTopic(db: TargetDb, sender: Sender, channel: Guarded, now: Date): Promise<void> {
  if (!(await holdsInChannel(db, sender, channel, 'can_create_topic_group', now))) {
    throw new BadRequestError('You do not have permission to create new topics in this channel.');
  }
}

/** Whether the user, or the owner of the bot it is, holds the permission in the channel. */
export async function holdsInChannel(
  db: TargetDb,
  sender: Sender,
  channel: Guarded,
  name: ChannelPermissionName,
  now: Date,
): Promise<boolean> {
  return holdAny(await holdersOf(db, sender, now), channel, name);
}

/** Which topics messages of the channel may have. */
export const topicsPolicyOf = (realm: Sender['realm'], { topicsPolicy }: Pick<Channel, 'topicsPolicy'>): string =>
  topicsPolicy === 'inherit' ? realmSetting(realm, 'topics_policy') : topicsPolicy;

/** @throws TopicPolicyError when messages of this topic are not to be sent or moved to the channel. */
export function requireTopicPolicy(
  realm: Sender['realm'],
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

/** Whether there is a message in the topic that the sender may see. */
async function isKnown(db: TargetDb, sender: Sender, row: TargetRow, topic: string): Promise<boolean> {
  if (row.last_in_topic === null || !hasProtectedHistory(row)) return row.last_in_topic !== null;
  return hasReceivedInTopic(db, { realmId: sender.realm.id, userId: sender.id }, row.id, topic);
}
