import { userSetting } from '../../access/user-settings.ts';
import { isQuietAt } from '../../contract/quiet-hours.ts';
import type { Subscription, User } from '../../generated/prisma/client.ts';
import { FOLLOWED, MUTED, UNMUTED } from '../topic-policies/policies.ts';

/** Ways in which a user is notified outside the chat. */
export const TRANSPORTS = ['push', 'email'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** Reasons for a notification, the most personal first. */
export const REASONS = ['direct', 'mention', 'wildcard', 'followed_topic', 'channel'] as const;
export type Reason = (typeof REASONS)[number];

/** Overrides of the user's settings in the subscription to a channel. Null inherits the user's setting. */
type Overrides = Pick<Subscription, 'isMuted' | 'pushNotifications' | 'emailNotifications' | 'wildcardMentionsNotify'>;

/** A new message, as one recipient receives it, with the settings and the presence of the recipient. */
export interface Situation {
  readonly user: Pick<User, 'settings'>;
  /** Subscription to the channel of the message. Undefined for a direct message. */
  readonly subscription: Overrides | undefined;
  /** Visibility policy of the user for the topic, as `user_topic.policy` stores it. Null: that of the channel applies. */
  readonly policy: number | null;
  /** Whether the message mentions the user by name or through a group. */
  readonly isMentioned: boolean;
  /** Whether the message mentions all users of the channel, or the participants of the topic including the user. */
  readonly isWildcardMentioned: boolean;
  /** Whether the user was active shortly before the message was sent. */
  readonly isActive: boolean;
  /** Whether the message was sent within the quiet hours of the user. Then it causes no push notification. */
  readonly isQuiet: boolean;
}

/**
 * Decides by which transports a user is notified of a message, and why. Alert words notify in the chat only.
 *
 * A direct message or a mention notifies in muted channels and topics as well. Everything else in them does not notify, unless
 * the topic is followed or unmuted.
 *
 * @returns The reason for each transport. A transport without reason is absent.
 */
export function notificationsOf(situation: Situation): Partial<Record<Transport, Reason>> {
  const { user, isActive, isQuiet } = situation;
  const isPushed = !isQuiet && (!isActive || userSetting(user, 'enable_online_push_notifications'));
  const push = isPushed ? reasonFor(situation, 'push') : undefined;
  const email = isActive ? undefined : reasonFor(situation, 'email');
  return { ...(push !== undefined && { push }), ...(email !== undefined && { email }) };
}

/** Settings that apply to a transport. */
interface TransportSettings {
  readonly personal: 'enable_offline_push_notifications' | 'enable_offline_email_notifications';
  readonly followedTopic: 'enable_followed_topic_push_notifications' | 'enable_followed_topic_email_notifications';
  readonly channel: 'enable_stream_push_notifications' | 'enable_stream_email_notifications';
  readonly override: 'pushNotifications' | 'emailNotifications';
}

const SETTINGS: Readonly<Record<Transport, TransportSettings>> = {
  push: {
    personal: 'enable_offline_push_notifications',
    followedTopic: 'enable_followed_topic_push_notifications',
    channel: 'enable_stream_push_notifications',
    override: 'pushNotifications',
  },
  email: {
    personal: 'enable_offline_email_notifications',
    followedTopic: 'enable_followed_topic_email_notifications',
    channel: 'enable_stream_email_notifications',
    override: 'emailNotifications',
  },
};

/** Returns the reason to notify a user by a transport, regardless of presence and quiet hours. Undefined if there is none. */
export function reasonFor(
  situation: Omit<Situation, 'isActive' | 'isQuiet'>,
  transport: Transport,
): Reason | undefined {
  const settings = SETTINGS[transport];
  const { user, subscription, policy, isMentioned, isWildcardMentioned } = situation;
  const personal = userSetting(user, settings.personal);
  if (subscription === undefined) return personal ? 'direct' : undefined;
  if (isMentioned && personal) return 'mention';
  if (policy === MUTED || (subscription.isMuted && policy !== UNMUTED && policy !== FOLLOWED)) return undefined;
  if (isWildcardMentioned && personal && wildcardsNotify(user, subscription, policy)) return 'wildcard';
  if (policy === FOLLOWED && userSetting(user, settings.followedTopic)) return 'followed_topic';
  return (subscription[settings.override] ?? userSetting(user, settings.channel)) ? 'channel' : undefined;
}

function wildcardsNotify(user: Pick<User, 'settings'>, subscription: Overrides, policy: number | null): boolean {
  if (policy === FOLLOWED) return userSetting(user, 'enable_followed_topic_wildcard_mentions_notify');
  return subscription.wildcardMentionsNotify ?? userSetting(user, 'wildcard_mentions_notify');
}

/**
 * Returns whether the current time is within the quiet hours of a user.
 *
 * @param timeIn Returns the time of day, as "HH:MM", in a time zone.
 */
export function isQuiet(user: Pick<User, 'settings'>, timeIn: (timeZone: string) => string): boolean {
  const hours = userSetting(user, 'quiet_hours');
  return hours !== '' && isQuietAt(hours, timeIn(userSetting(user, 'timezone')));
}
