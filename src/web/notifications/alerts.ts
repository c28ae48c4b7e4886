import { isQuietAt, timeOfDay } from '../../contract/quiet-hours.ts';
import type {
  MessageRowFragment,
  NotificationSettingsFragment,
  SidebarSubscriptionFragment,
  TopicVisibility,
} from '../generated/graphql.ts';

/** Signals with which the page notifies the user of a new message. */
export interface Alert {
  /** Whether a desktop notification is shown. */
  readonly isShown: boolean;
  /** Whether a sound is played. */
  readonly isAudible: boolean;
}

/** The settings of the viewer that apply to a message. */
interface Situation {
  readonly settings: NotificationSettingsFragment;
  /** Subscription to the channel of the message. Undefined for direct messages, and if the viewer is not subscribed. */
  readonly subscription: SidebarSubscriptionFragment | undefined;
  /** Setting of the viewer for the topic of the message. */
  readonly visibility: TopicVisibility;
  /** Time zone of the viewer, as an IANA identifier. Empty: UTC. */
  readonly timeZone: string;
}

const isQuiet = (hours: string, timeZone: string): boolean =>
  hours !== '' && isQuietAt(hours, timeOfDay(new Date(), timeZone));

const SILENT: Alert = { isShown: false, isAudible: false };

/**
 * Returns how a new message notifies the viewer. Messages of the viewer, and messages that are already read, do not notify.
 *
 * A mention by name or group notifies in muted channels and topics as well. Everything else in them is silent, unless the topic
 * is followed or unmuted.
 */
export function alertOf(
  { type, flags, viewerHasRead }: Pick<MessageRowFragment, 'type' | 'flags' | 'viewerHasRead'>,
  { settings, subscription, visibility, timeZone }: Situation,
): Alert {
  if (viewerHasRead || isQuiet(settings.quietHours, timeZone)) return SILENT;
  const personal: Alert = { isShown: settings.enableDesktopNotifications, isAudible: settings.enableSounds };
  if (type === 'DIRECT' || flags.includes('MENTIONED')) return personal;
  const isFollowed = visibility === 'FOLLOWED';
  const isMuted = visibility === 'MUTED' || (subscription?.isMuted === true && visibility === 'INHERIT');
  if (isMuted) return SILENT;
  if (flags.includes('HAS_ALERT_WORD')) return personal;
  const isOfAll = flags.includes('CHANNEL_WILDCARD_MENTIONED') || flags.includes('TOPIC_WILDCARD_MENTIONED');
  const notifyAll = isFollowed
    ? settings.enableFollowedTopicWildcardMentionsNotify
    : (subscription?.wildcardMentionsNotify ?? settings.wildcardMentionsNotify);
  const alerts: Alert[] = [
    ...(isOfAll && notifyAll ? [personal] : []),
    ...(isFollowed
      ? [
          {
            isShown: settings.enableFollowedTopicDesktopNotifications,
            isAudible: settings.enableFollowedTopicAudibleNotifications,
          },
        ]
      : []),
    {
      isShown: subscription?.desktopNotifications ?? settings.enableChannelDesktopNotifications,
      isAudible: subscription?.audibleNotifications ?? settings.enableChannelAudibleNotifications,
    },
  ];
  return { isShown: alerts.some(({ isShown }) => isShown), isAudible: alerts.some(({ isAudible }) => isAudible) };
}
