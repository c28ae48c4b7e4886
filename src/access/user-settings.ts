import { z } from 'zod';
import type { Prisma, User } from '../generated/prisma/client.ts';
import { isLanguage } from '../platform/languages.ts';
import { closedSet, flag, oneOf, type Setting, setting, text, valuesOf } from '../platform/setting.ts';
import { isTimeZone } from '../platform/time-zone.ts';

const on = (meaning: string) => flag(true, meaning);
const off = (meaning: string) => flag(false, meaning);

/** The sounds clients bring along. Our choice of names: the document's are a vendor's. */
export const NOTIFICATION_SOUNDS = ['default', 'chime', 'ding'] as const;
/** The emoji designs clients bring along. Our choice, as above; "text" is the document's. */
export const EMOJI_SETS = [
  { key: 'default', text: 'Default' },
  { key: 'text', text: 'Plain text' },
] as const;

/** Who may see a user's e-mail address, in the setting `email_address_visibility`. */
export const VISIBLE_TO_EVERYONE = 1;
export const VISIBLE_TO_MEMBERS = 2;
export const VISIBLE_TO_ADMINISTRATORS = 3;
export const VISIBLE_TO_NOBODY = 4;
export const VISIBLE_TO_MODERATORS = 5;
const EMAIL_ADDRESS_VISIBILITY = closedSet('EmailAddressVisibility', "Who sees a user's real e-mail address.", {
  EVERYONE: [VISIBLE_TO_EVERYONE, 'Everybody in the organization, guests included.'],
  MEMBERS: [VISIBLE_TO_MEMBERS, 'Members and those above them, no guests.'],
  ADMINISTRATORS: [VISIBLE_TO_ADMINISTRATORS, 'Administrators and owners.'],
  NOBODY: [VISIBLE_TO_NOBODY, 'Nobody but the user.'],
  MODERATORS: [VISIBLE_TO_MODERATORS, 'Moderators, administrators and owners.'],
});
export const EMAIL_VISIBILITIES = valuesOf(EMAIL_ADDRESS_VISIBILITY);

const MARK_READ_ON_SCROLL = closedSet('MarkReadOnScroll', 'Where scrolling past messages marks them as read.', {
  ALWAYS: [1, 'In every view.'],
  IN_CONVERSATION_VIEWS: [2, 'In views of one topic or one direct conversation.'],
  NEVER: [3, 'Nowhere: the user marks messages as read.'],
});

const CHANNEL_DEFAULT_VIEW = closedSet('ChannelDefaultView', 'What a client opens when a channel is chosen.', {
  TOP_TOPIC: [1, 'The topic with the newest message.'],
  CHANNEL_FEED: [2, 'The messages of all its topics.'],
  TOPIC_LIST: [3, 'The list of its topics.'],
  TOP_UNREAD_TOPIC: [4, 'Of the topics with unread messages, the one with the newest.'],
});

const COLOR_SCHEME = closedSet('ColorScheme', 'The colors of the interface.', {
  AUTOMATIC: [1, 'As the device has it.'],
  DARK: [2, 'Light text on a dark ground.'],
  LIGHT: [3, 'Dark text on a light ground.'],
});

const WEB_HOME_VIEW = closedSet('WebHomeView', 'What a client shows first.', {
  RECENT: ['recent', 'The conversations with the newest messages.'],
  INBOX: ['inbox', 'The conversations with unread messages.'],
  ALL_MESSAGES: ['all_messages', 'The messages of all conversations in one feed.'],
});

const EMOJI_SET = closedSet('EmojiSet', 'The design of emoji.', {
  DEFAULT: ['default', 'The images that the client brings along.'],
  TEXT: ['text', 'No images: the name between colons.'],
});

const DEMOTE_INACTIVE_CHANNELS = closedSet(
  'DemoteInactiveChannels',
  'Whether channels without recent messages stand below the others in lists.',
  {
    AUTOMATIC: [1, 'Where there are so many channels that it helps; the client decides.'],
    ALWAYS: [2, 'However many channels there are.'],
    NEVER: [3, 'All channels stand alike.'],
  },
);

const USER_LIST_STYLE = closedSet('UserListStyle', 'What a list of users shows beside their names.', {
  COMPACT: [1, 'Nothing but presence.'],
  WITH_STATUS: [2, 'The text of their status.'],
  WITH_AVATAR: [3, 'The text of their status, and their image.'],
});

const ANIMATE_IMAGE_PREVIEWS = closedSet('AnimateImagePreviews', 'When previews of animated images move.', {
  ALWAYS: ['always', 'As long as they are seen.'],
  ON_HOVER: ['on_hover', 'While the pointer is on them.'],
  NEVER: ['never', 'Not before the image is opened.'],
});

const CHANNEL_UNREAD_COUNTS = closedSet('ChannelUnreadCounts', 'Which channels show how many messages are unread.', {
  ALL: [1, 'All channels.'],
  UNMUTED: [2, 'Channels that are not muted, and unmuted topics of others.'],
  NONE: [3, 'No channel: they only show that there is something unread.'],
});

const NOTIFICATION_SOUND = closedSet('NotificationSound', 'The sound that a notification makes.', {
  DEFAULT: [NOTIFICATION_SOUNDS[0], "The client's own."],
  CHIME: [NOTIFICATION_SOUNDS[1], 'A chime of bells.'],
  DING: [NOTIFICATION_SOUNDS[2], 'A single short tone.'],
  NONE: ['none', 'No sound.'],
});

const DESKTOP_ICON_COUNT = closedSet(
  'DesktopIconCount',
  "Which unread messages the number on the application's icon counts.",
  {
    ALL: [1, 'All that are not muted.'],
    DIRECT_MESSAGES_MENTIONS_AND_FOLLOWED_TOPICS: [2, 'Direct messages, mentions, and messages in followed topics.'],
    DIRECT_MESSAGES_AND_MENTIONS: [3, 'Direct messages and mentions.'],
    NONE: [4, 'None: the icon shows no number.'],
  },
);

const ORGANIZATION_NAME_IN_EMAILS = closedSet(
  'OrganizationNameInEmails',
  "Whether the subject of mails about missed messages has the organization's name.",
  {
    AUTOMATIC: [1, 'Where the address has accounts in several organizations.'],
    ALWAYS: [2, 'In every mail.'],
    NEVER: [3, 'In no mail.'],
  },
);

const TOPIC_TRIGGER = closedSet('TopicTrigger', 'By which act of theirs a user comes to follow or unmute a topic.', {
  PARTICIPATING: [1, 'Taking part in any way, such as sending or reacting.'],
  SENDING: [2, 'Sending a message to it.'],
  STARTING: [3, 'Sending the first message of it.'],
  NEVER: [4, 'By none.'],
});

const RESOLVED_TOPIC_NOTICE_AUTO_READ = closedSet(
  'ResolvedTopicNoticeAutoRead',
  'Of which topics the notices that they were resolved, or are open again, count as read at once.',
  {
    ALWAYS: ['always', 'Of all topics.'],
    EXCEPT_FOLLOWED: ['except_followed', 'Of all topics but those the user follows.'],
    NEVER: ['never', 'Of none.'],
  },
);

/** Of what one subscription can set otherwise. */
const UNLESS_SUBSCRIPTION = ', where the subscription says nothing else';

/**
 * Every setting of a user, by its wire name. `User.settings` holds those that differ from these, and under `edited` the
 * names of those the user has changed themselves.
 */
export const USER_SETTINGS = {
  timezone: text('', 64, 'The time zone, an IANA identifier; empty when not set', { isKnown: isTimeZone }),
  default_language: text('en', 50, 'The language of the interface, by its code: "en", "pt-br"', {
    isKnown: isLanguage,
  }),
  email_address_visibility: oneOf(
    EMAIL_ADDRESS_VISIBILITY,
    VISIBLE_TO_EVERYONE,
    "Who sees the user's real e-mail address",
  ),
  twenty_four_hour_time: setting<boolean | null>(
    z.boolean().nullable(),
    false,
    'Whether times are shown on a clock of 24 hours; null is as the language has it',
  ),
  web_mark_read_on_scroll_policy: oneOf(MARK_READ_ON_SCROLL, 1, 'Where scrolling past messages marks them as read'),
  web_channel_default_view: oneOf(CHANNEL_DEFAULT_VIEW, 1, 'What opens when a channel is chosen'),
  starred_message_counts: on('Whether the number of starred messages is shown'),
  receives_typing_notifications: on('Whether the user is told who is typing'),
  web_suggest_update_timezone: on('Whether to suggest another time zone when the device is in another'),
  display_emoji_reaction_users: on('Whether reactions show who gave them, where they are few'),
  web_escape_navigates_to_home_view: on('Whether the Escape key leads to the home view'),
  web_navigate_to_sent_message: on('Whether the view goes to the conversation a message was sent to'),
  web_left_sidebar_unreads_count_summary: on('Whether the sidebar shows sums of unread messages'),
  web_inbox_show_channel_folders: on('Whether the inbox groups channels by folder'),
  web_left_sidebar_show_channel_folders: on('Whether the sidebar groups channels by folder'),
  fluid_layout_width: off('Whether the interface takes the whole width of the window'),
  high_contrast_mode: off('Whether the interface has high contrast'),
  translate_emoticons: off('Whether emoticons such as ":)" become emoji in what the user sends'),
  left_side_userlist: off('Whether the list of users stands at the left in narrow windows'),
  enter_sends: off('Whether the Enter key sends a message, instead of beginning a line'),
  hide_ai_features: off('Whether what works by AI is hidden'),
  web_font_size_px: setting(z.int().positive(), 16, 'The size of text in pixels, at least 1'),
  web_line_height_percent: setting(
    z.int().positive(),
    140,
    'The height of lines in percent of the size of text, at least 1',
  ),
  color_scheme: oneOf(COLOR_SCHEME, 1, 'The colors of the interface'),
  web_home_view: oneOf(WEB_HOME_VIEW, 'inbox', 'What is shown first'),
  emojiset: oneOf(EMOJI_SET, 'default', 'The design of emoji'),
  demote_inactive_streams: oneOf(
    DEMOTE_INACTIVE_CHANNELS,
    1,
    'Whether channels without recent messages stand below the others',
  ),
  user_list_style: oneOf(USER_LIST_STYLE, 3, 'What the list of users shows beside their names'),
  web_animate_image_previews: oneOf(ANIMATE_IMAGE_PREVIEWS, 'on_hover', 'When previews of animated images move'),
  web_stream_unreads_count_display_policy: oneOf(
    CHANNEL_UNREAD_COUNTS,
    2,
    'Which channels show how many messages are unread',
  ),
  enable_drafts_synchronization: on("Whether drafts are kept by the service, for all the user's devices"),
  enable_stream_desktop_notifications: off(`Whether messages in channels notify on the desktop${UNLESS_SUBSCRIPTION}`),
  enable_stream_email_notifications: off(`Whether messages in channels are told by mail${UNLESS_SUBSCRIPTION}`),
  enable_stream_push_notifications: off(`Whether messages in channels notify on phones${UNLESS_SUBSCRIPTION}`),
  enable_stream_audible_notifications: off(`Whether messages in channels make a sound${UNLESS_SUBSCRIPTION}`),
  notification_sound: oneOf(NOTIFICATION_SOUND, 'default', 'The sound that notifications make'),
  enable_desktop_notifications: on('Whether direct messages, mentions and alert words notify on the desktop'),
  enable_sounds: on('Whether direct messages, mentions and alert words make a sound'),
  enable_offline_email_notifications: on('Whether direct messages and mentions are told by mail to who is away'),
  enable_offline_push_notifications: on('Whether direct messages and mentions notify on phones when the user is away'),
  enable_online_push_notifications: on('Whether phones are notified when the user is there as well'),
  message_content_in_email_notifications: on('Whether mails about missed messages have the text of them'),
  pm_content_in_desktop_notifications: on('Whether desktop notifications of direct messages have the text of them'),
  wildcard_mentions_notify: on(`Whether mentions of everybody notify like those of the user${UNLESS_SUBSCRIPTION}`),
  enable_digest_emails: on('Whether the user gets mails of what was said while they were away'),
  enable_marketing_emails: on("Whether the user gets mails of the service's news"),
  enable_login_emails: on('Whether the user gets a mail when somebody signs in to the account from a new device'),
  enable_followed_topic_desktop_notifications: on('Whether messages in followed topics notify on the desktop'),
  enable_followed_topic_email_notifications: on('Whether messages in followed topics are told by mail to who is away'),
  enable_followed_topic_push_notifications: on('Whether messages in followed topics notify on phones'),
  enable_followed_topic_audible_notifications: on('Whether messages in followed topics make a sound'),
  enable_followed_topic_wildcard_mentions_notify: on(
    'Whether mentions of everybody in followed topics notify like those of the user',
  ),
  email_notifications_batching_period_seconds: setting(
    z.int().min(1).max(604_800),
    120,
    'For how many seconds missed messages are gathered for one mail, from 1 to 604,800',
  ),
  desktop_icon_count_display: oneOf(
    DESKTOP_ICON_COUNT,
    1,
    "Which unread messages the number on the application's icon counts",
  ),
  realm_name_in_email_notifications_policy: oneOf(
    ORGANIZATION_NAME_IN_EMAILS,
    1,
    "Whether the subject of mails about missed messages has the organization's name",
  ),
  automatically_follow_topics_policy: oneOf(TOPIC_TRIGGER, 3, 'By which act the user comes to follow a topic'),
  automatically_unmute_topics_in_muted_streams_policy: oneOf(
    TOPIC_TRIGGER,
    2,
    'By which act a topic in a muted channel comes to be unmuted for the user',
  ),
  automatically_follow_topics_where_mentioned: on('Whether the user comes to follow topics they are mentioned in'),
  resolved_topic_notice_auto_read_policy: oneOf(
    RESOLVED_TOPIC_NOTICE_AUTO_READ,
    'except_followed',
    'Of which topics the notices that they were resolved count as read at once',
  ),
  presence_enabled: on('Whether others see when the user is there'),
  send_private_typing_notifications: on('Whether others are told when the user types a direct message'),
  send_stream_typing_notifications: on('Whether others are told when the user types a message to a channel'),
  send_read_receipts: on('Whether others see which messages the user has read'),
  allow_private_data_export: off("Whether administrators may export the user's private data"),
} as const satisfies Record<string, Setting<unknown>>;

export type UserSettingName = keyof typeof USER_SETTINGS;
export const USER_SETTING_NAMES = Object.keys(USER_SETTINGS) as readonly UserSettingName[];
export type UserSettingValue<K extends UserSettingName> = (typeof USER_SETTINGS)[K]['initial'];

/** Lists that come with the settings, for clients to choose from. */
export const SETTING_CHOICES = { available_notification_sounds: NOTIFICATION_SOUNDS, emojiset_choices: EMOJI_SETS };

/** What `user` has set, or the default. */
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

/** Whether the user has ever changed the setting themselves. */
export const hasEdited = ({ settings }: Pick<User, 'settings'>, name: UserSettingName): boolean =>
  editedOf(settings).includes(name);

/** A column of settings, with these remembered as changed by the user themselves. */
export const withEdited = (settings: Prisma.JsonObject, names: readonly UserSettingName[]): Prisma.JsonObject => ({
  ...settings,
  [EDITED]: [...new Set([...editedOf(settings), ...names])] as string[],
});
