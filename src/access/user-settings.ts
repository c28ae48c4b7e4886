import { z } from 'zod';
import { parseQuietHours } from '../contract/quiet-hours.ts';
import type { Prisma, User } from '../generated/prisma/client.ts';
import { isLanguage } from '../platform/languages.ts';
import { closedSet, flag, oneOf, type Setting, setting, text, valuesOf, withoutEffect } from '../platform/setting.ts';
import { isTimeZone } from '../platform/time-zone.ts';

const on = (meaning: string) => flag(true, meaning);
const off = (meaning: string) => flag(false, meaning);

/**
 * The sounds that clients include. The REST documentation lists the sounds of one vendor's client, so the names here differ
 * from it.
 */
export const NOTIFICATION_SOUNDS = ['default', 'chime', 'ding'] as const;
/**
 * The emoji designs that clients include. "text" is a name from the REST documentation. The other names in that documentation
 * belong to a vendor.
 */
export const EMOJI_SETS = [
  { key: 'default', text: 'Default' },
  { key: 'text', text: 'Plain text' },
] as const;

/** The users who can see a user's email address: values of the setting `email_address_visibility`. */
export const VISIBLE_TO_EVERYONE = 1;
export const VISIBLE_TO_MEMBERS = 2;
export const VISIBLE_TO_ADMINISTRATORS = 3;
export const VISIBLE_TO_NOBODY = 4;
export const VISIBLE_TO_MODERATORS = 5;
const EMAIL_ADDRESS_VISIBILITY = closedSet('EmailAddressVisibility', "Users who can see a user's real email address.", {
  EVERYONE: [VISIBLE_TO_EVERYONE, 'All users of the organization, including guests.'],
  MEMBERS: [VISIBLE_TO_MEMBERS, 'Members, moderators, administrators and owners, but not guests.'],
  ADMINISTRATORS: [VISIBLE_TO_ADMINISTRATORS, 'Administrators and owners.'],
  NOBODY: [VISIBLE_TO_NOBODY, 'Only the user themselves.'],
  MODERATORS: [VISIBLE_TO_MODERATORS, 'Moderators, administrators and owners.'],
});
export const EMAIL_VISIBILITIES = valuesOf(EMAIL_ADDRESS_VISIBILITY);

const MARK_READ_ON_SCROLL = closedSet(
  'MarkReadOnScroll',
  'Views in which scrolling past messages marks them as read.',
  {
    ALWAYS: [1, 'All views.'],
    IN_CONVERSATION_VIEWS: [2, 'Views of one topic or one direct conversation.'],
    NEVER: [3, 'No views: the user marks messages as read.'],
  },
);

const CHANNEL_DEFAULT_VIEW = closedSet(
  'ChannelDefaultView',
  'View that a client opens when the user selects a channel.',
  {
    TOP_TOPIC: [1, 'The topic with the newest message.'],
    CHANNEL_FEED: [2, 'The messages of all topics of the channel.'],
    TOPIC_LIST: [3, 'The list of topics of the channel.'],
    TOP_UNREAD_TOPIC: [4, 'The topic with the newest message among those with unread messages.'],
  },
);

const COLOR_SCHEME = closedSet('ColorScheme', 'Color scheme of the interface.', {
  AUTOMATIC: [1, 'Same as the device.'],
  DARK: [2, 'Light text on a dark background.'],
  LIGHT: [3, 'Dark text on a light background.'],
});

const WEB_HOME_VIEW = closedSet('WebHomeView', 'View that a client shows first.', {
  RECENT: ['recent', 'The conversations with the newest messages.'],
  INBOX: ['inbox', 'The conversations with unread messages.'],
  ALL_MESSAGES: ['all_messages', 'The messages of all conversations in one feed.'],
});

const EMOJI_SET = closedSet('EmojiSet', 'Design of emoji.', {
  DEFAULT: ['default', 'The images that are included in the client.'],
  TEXT: ['text', 'No images, only the name between colons.'],
});

const DEMOTE_INACTIVE_CHANNELS = closedSet(
  'DemoteInactiveChannels',
  'Whether channels without recent messages are listed below the others.',
  {
    AUTOMATIC: [1, 'Only if there are many channels. The client decides.'],
    ALWAYS: [2, 'Regardless of the number of channels.'],
    NEVER: [3, 'Never: all channels are listed together.'],
  },
);

const USER_LIST_STYLE = closedSet('UserListStyle', 'Details that a list of users shows beside their names.', {
  COMPACT: [1, 'Presence only.'],
  WITH_STATUS: [2, 'Status text.'],
  WITH_AVATAR: [3, 'Status text and avatar.'],
});

const ANIMATE_IMAGE_PREVIEWS = closedSet(
  'AnimateImagePreviews',
  'Condition under which previews of animated images play.',
  {
    ALWAYS: ['always', 'While the preview is visible.'],
    ON_HOVER: ['on_hover', 'While the pointer is over the preview.'],
    NEVER: ['never', 'Never: only the opened image plays.'],
  },
);

const CHANNEL_UNREAD_COUNTS = closedSet('ChannelUnreadCounts', 'Channels that show their number of unread messages.', {
  ALL: [1, 'All channels.'],
  UNMUTED: [2, 'Unmuted channels. Muted channels show only the unread messages of their unmuted topics.'],
  NONE: [3, 'No channels. They only show whether there are unread messages.'],
});

const NOTIFICATION_SOUND = closedSet('NotificationSound', 'Sound of a notification.', {
  DEFAULT: [NOTIFICATION_SOUNDS[0], 'The default sound of the client.'],
  CHIME: [NOTIFICATION_SOUNDS[1], 'A chime of bells.'],
  DING: [NOTIFICATION_SOUNDS[2], 'A single short tone.'],
  NONE: ['none', 'No sound.'],
});

const DESKTOP_ICON_COUNT = closedSet(
  'DesktopIconCount',
  'Unread messages that are counted in the number on the application icon.',
  {
    ALL: [1, 'All messages that are not muted.'],
    DIRECT_MESSAGES_MENTIONS_AND_FOLLOWED_TOPICS: [2, 'Direct messages, mentions, and messages in followed topics.'],
    DIRECT_MESSAGES_AND_MENTIONS: [3, 'Direct messages and mentions.'],
    NONE: [4, 'No messages: the icon shows no number.'],
  },
);

const ORGANIZATION_NAME_IN_EMAILS = closedSet(
  'OrganizationNameInEmails',
  'Whether the subject of emails about missed messages contains the name of the organization.',
  {
    AUTOMATIC: [1, 'Only if the email address has accounts in several organizations.'],
    ALWAYS: [2, 'In every email.'],
    NEVER: [3, 'In no email.'],
  },
);

const TOPIC_TRIGGER = closedSet(
  'TopicTrigger',
  'Action after which a topic is automatically followed or unmuted for a user.',
  {
    PARTICIPATING: [1, 'Any participation, such as sending a message or adding a reaction.'],
    SENDING: [2, 'Sending a message to the topic.'],
    STARTING: [3, 'Sending the first message of the topic.'],
    NEVER: [4, 'No action.'],
  },
);

const RESOLVED_TOPIC_NOTICE_AUTO_READ = closedSet(
  'ResolvedTopicNoticeAutoRead',
  'Topics in which notices about resolving or reopening the topic are immediately marked as read.',
  {
    ALWAYS: ['always', 'All topics.'],
    EXCEPT_FOLLOWED: ['except_followed', 'All topics except those that the user follows.'],
    NEVER: ['never', 'No topics.'],
  },
);

/** Suffix for the descriptions of settings that have their own value in a subscription. */
const UNLESS_SUBSCRIPTION = ', unless the subscription has its own setting';

/**
 * Every setting of a user, by its wire name. `User.settings` contains the values that differ from the default. Its key `edited`
 * lists the settings that the user has changed themselves.
 */
export const USER_SETTINGS = {
  timezone: text('', 64, 'Time zone, as an IANA identifier; empty if not set', { isKnown: isTimeZone }),
  default_language: text('en', 50, 'Language of the interface, as a code: "en", "pt-br"', {
    isKnown: isLanguage,
  }),
  email_address_visibility: oneOf(
    EMAIL_ADDRESS_VISIBILITY,
    VISIBLE_TO_EVERYONE,
    "Users who can see the user's real email address",
  ),
  twenty_four_hour_time: setting<boolean | null>(
    z.boolean().nullable(),
    false,
    'Whether times are shown on a 24-hour clock; null for the clock that is usual for the language',
  ),
  web_mark_read_on_scroll_policy: oneOf(
    MARK_READ_ON_SCROLL,
    1,
    'Views in which scrolling past messages marks them as read',
  ),
  web_channel_default_view: oneOf(CHANNEL_DEFAULT_VIEW, 1, 'View that opens when the user selects a channel'),
  starred_message_counts: on('Whether the number of starred messages is shown'),
  receives_typing_notifications: on('Whether the user receives typing notifications'),
  web_suggest_update_timezone: on('Whether clients suggest a new time zone if that of the device differs'),
  display_emoji_reaction_users: on('Whether reactions show the names of the users who added them, if there are few'),
  web_escape_navigates_to_home_view: on('Whether the Escape key opens the home view'),
  web_navigate_to_sent_message: on('Whether clients open the conversation to which the user has sent a message'),
  web_left_sidebar_unreads_count_summary: on('Whether the sidebar shows total numbers of unread messages'),
  web_inbox_show_channel_folders: on('Whether the inbox groups channels by folder'),
  web_left_sidebar_show_channel_folders: on('Whether the sidebar groups channels by folder'),
  fluid_layout_width: off('Whether the interface uses the full width of the window'),
  high_contrast_mode: off('Whether the interface has high contrast'),
  translate_emoticons: off('Whether emoticons such as ":)" are converted to emoji in messages that the user sends'),
  left_side_userlist: off('Whether the list of users is on the left in narrow windows'),
  enter_sends: off('Whether the Enter key sends a message, instead of starting a new line'),
  hide_ai_features: off('Whether features that use AI are hidden'),
  web_font_size_px: setting(z.int().positive(), 16, 'Text size in pixels, at least 1'),
  web_line_height_percent: setting(z.int().positive(), 140, 'Line height in percent of the text size, at least 1'),
  color_scheme: oneOf(COLOR_SCHEME, 1, 'Color scheme of the interface'),
  web_home_view: oneOf(WEB_HOME_VIEW, 'inbox', 'View that clients show first'),
  emojiset: oneOf(EMOJI_SET, 'default', 'Design of emoji'),
  demote_inactive_streams: oneOf(
    DEMOTE_INACTIVE_CHANNELS,
    1,
    'Whether channels without recent messages are listed below the others',
  ),
  user_list_style: oneOf(USER_LIST_STYLE, 3, 'Details that the list of users shows beside their names'),
  web_animate_image_previews: oneOf(
    ANIMATE_IMAGE_PREVIEWS,
    'on_hover',
    'Condition under which previews of animated images play',
  ),
  web_stream_unreads_count_display_policy: oneOf(
    CHANNEL_UNREAD_COUNTS,
    2,
    'Channels that show their number of unread messages',
  ),
  enable_drafts_synchronization: on('Whether drafts are stored on the server, for all devices of the user'),
  enable_stream_desktop_notifications: off(
    `Whether messages in channels cause desktop notifications${UNLESS_SUBSCRIPTION}`,
  ),
  enable_stream_email_notifications: off(
    `Whether messages in channels cause emails while the user is away${UNLESS_SUBSCRIPTION}`,
  ),
  enable_stream_push_notifications: off(
    `Whether messages in channels cause push notifications while the user is away${UNLESS_SUBSCRIPTION}`,
  ),
  enable_stream_audible_notifications: off(`Whether messages in channels play a sound${UNLESS_SUBSCRIPTION}`),
  notification_sound: oneOf(NOTIFICATION_SOUND, 'default', 'Sound of notifications'),
  enable_desktop_notifications: on('Whether direct messages, mentions and alert words cause desktop notifications'),
  enable_sounds: on('Whether direct messages, mentions and alert words play a sound'),
  enable_offline_email_notifications: on('Whether direct messages and mentions cause emails while the user is away'),
  enable_offline_push_notifications: on(
    'Whether direct messages and mentions cause push notifications while the user is away',
  ),
  enable_online_push_notifications: on('Whether push notifications are sent even while the user is active'),
  message_content_in_email_notifications: on('Whether emails about missed messages contain the text of the messages'),
  pm_content_in_desktop_notifications: on(
    'Whether desktop notifications of direct messages contain the text of the messages',
  ),
  wildcard_mentions_notify: on(`Whether wildcard mentions notify like mentions of the user${UNLESS_SUBSCRIPTION}`),
  enable_digest_emails: on(
    'Whether the user gets a weekly email of missed messages after five days without activity, if the organization sends ' +
      'such emails',
  ),
  enable_marketing_emails: withoutEffect(
    on('Whether the user gets emails with announcements of the service'),
    'the service sends no such emails',
  ),
  enable_login_emails: on('Whether the user gets an email after a sign-in from a new device'),
  enable_followed_topic_desktop_notifications: on('Whether messages in followed topics cause desktop notifications'),
  enable_followed_topic_email_notifications: on(
    'Whether messages in followed topics cause emails while the user is away',
  ),
  enable_followed_topic_push_notifications: on(
    'Whether messages in followed topics cause push notifications while the user is away',
  ),
  enable_followed_topic_audible_notifications: on('Whether messages in followed topics play a sound'),
  enable_followed_topic_wildcard_mentions_notify: on(
    'Whether wildcard mentions in followed topics notify like mentions of the user',
  ),
  quiet_hours: text(
    '',
    11,
    'Daily hours without push notifications, desktop notifications and sounds, such as "22:00-07:00", in the time zone of ' +
      'the user (UTC if none is set). Empty: none',
    { isKnown: (hours) => hours === '' || parseQuietHours(hours) !== undefined },
  ),
  email_notifications_batching_period_seconds: setting(
    z.int().min(1).max(604_800),
    120,
    'Time for which missed messages of a topic or conversation are collected into one email, in seconds, from 1 to 604,800',
  ),
  desktop_icon_count_display: oneOf(
    DESKTOP_ICON_COUNT,
    1,
    'Unread messages that are counted in the number on the application icon',
  ),
  realm_name_in_email_notifications_policy: oneOf(
    ORGANIZATION_NAME_IN_EMAILS,
    1,
    'Condition under which the subject of emails about missed messages contains the name of the organization',
  ),
  automatically_follow_topics_policy: oneOf(
    TOPIC_TRIGGER,
    3,
    'Action after which the user automatically follows a topic',
  ),
  automatically_unmute_topics_in_muted_streams_policy: oneOf(
    TOPIC_TRIGGER,
    2,
    'Action after which a topic in a muted channel is automatically unmuted for the user',
  ),
  automatically_follow_topics_where_mentioned: on(
    'Whether the user automatically follows a topic when a new message mentions them by name, unless the user has set a policy ' +
      'for it',
  ),
  resolved_topic_notice_auto_read_policy: oneOf(
    RESOLVED_TOPIC_NOTICE_AUTO_READ,
    'except_followed',
    'Topics whose notices about resolving or reopening them are immediately marked as read',
  ),
  presence_enabled: on('Whether other users can see the presence of the user'),
  send_private_typing_notifications: on('Whether other users are notified when the user types a direct message'),
  send_stream_typing_notifications: on('Whether other users are notified when the user types a message to a channel'),
  send_read_receipts: on('Whether other users can see which messages the user has read'),
  allow_private_data_export: withoutEffect(
    off("Whether administrators can export the user's private data"),
    'the service has no exports for administrators',
  ),
} as const satisfies Record<string, Setting<unknown>>;

export type UserSettingName = keyof typeof USER_SETTINGS;
export const USER_SETTING_NAMES = Object.keys(USER_SETTINGS) as readonly UserSettingName[];
export type UserSettingValue<K extends UserSettingName> = (typeof USER_SETTINGS)[K]['initial'];

/** Lists of possible values that clients receive together with the settings. */
export const SETTING_CHOICES = { available_notification_sounds: NOTIFICATION_SOUNDS, emojiset_choices: EMOJI_SETS };

/** Returns the value of a setting of `user`: the stored value, or the default. */
export function userSetting<K extends UserSettingName>(user: Pick<User, 'settings'>, name: K): UserSettingValue<K> {
  // The database holds an object in this column.
  const set = (user.settings as Readonly<Record<string, unknown>>)[name];
  return (set === undefined ? USER_SETTINGS[name].initial : set) as UserSettingValue<K>;
}

const EDITED = 'edited';

const editedOf = (settings: User['settings']): readonly unknown[] => {
  const edited = (settings as Readonly<Record<string, unknown>>)[EDITED];
  return Array.isArray(edited) ? edited : [];
};

/** Returns whether the user has ever changed the setting themselves. */
export const hasEdited = ({ settings }: Pick<User, 'settings'>, name: UserSettingName): boolean =>
  editedOf(settings).includes(name);

/** Returns a copy of `settings` in which `names` are added to the list of settings that the user has changed themselves. */
export const withEdited = (settings: Prisma.JsonObject, names: readonly UserSettingName[]): Prisma.JsonObject => ({
  ...settings,
  [EDITED]: [...new Set([...editedOf(settings), ...names])] as string[],
});
