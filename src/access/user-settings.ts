import { z } from 'zod';
import type { Prisma, User } from '../generated/prisma/client.ts';
import { isLanguage } from '../platform/languages.ts';
import { flag, oneOf, type Setting, setting, text } from '../platform/setting.ts';
import { isTimeZone } from '../platform/time-zone.ts';

const on = flag(true);
const off = flag(false);

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
export const EMAIL_VISIBILITIES = [
  ...[VISIBLE_TO_EVERYONE, VISIBLE_TO_MEMBERS, VISIBLE_TO_ADMINISTRATORS, VISIBLE_TO_NOBODY, VISIBLE_TO_MODERATORS],
] as const;

/** Of policies for topics. */
const WHEN = '1 where I participate, 2 where I send, 3 where I begin, 4 never';

/**
 * Every setting of a user, by its wire name. `User.settings` holds those that differ from these, and under `edited` the
 * names of those the user has changed themselves.
 */
export const USER_SETTINGS = {
  timezone: text('', 64, { isKnown: isTimeZone, meaning: 'An IANA identifier' }),
  default_language: text('en', 50, { isKnown: isLanguage, meaning: 'A language code: "en", "pt-br"' }),
  email_address_visibility: oneOf(
    EMAIL_VISIBILITIES,
    VISIBLE_TO_EVERYONE,
    '1 everyone, 2 members, 3 administrators, 4 nobody, 5 moderators',
  ),
  twenty_four_hour_time: setting<boolean | null>(z.boolean().nullable(), false, { meaning: "null is the language's" }),
  web_mark_read_on_scroll_policy: oneOf([1, 2, 3], 1, '1 always, 2 in conversation views, 3 never'),
  web_channel_default_view: oneOf([1, 2, 3, 4], 1, '1 top topic, 2 channel feed, 3 topic list, 4 top unread topic'),
  starred_message_counts: on,
  receives_typing_notifications: on,
  web_suggest_update_timezone: on,
  display_emoji_reaction_users: on,
  web_escape_navigates_to_home_view: on,
  web_navigate_to_sent_message: on,
  web_left_sidebar_unreads_count_summary: on,
  web_inbox_show_channel_folders: on,
  web_left_sidebar_show_channel_folders: on,
  fluid_layout_width: off,
  high_contrast_mode: off,
  translate_emoticons: off,
  left_side_userlist: off,
  enter_sends: off,
  hide_ai_features: off,
  web_font_size_px: setting(z.int().positive(), 16),
  web_line_height_percent: setting(z.int().positive(), 140),
  color_scheme: oneOf([1, 2, 3], 1, '1 automatic, 2 dark, 3 light'),
  web_home_view: oneOf(['recent', 'inbox', 'all_messages'], 'inbox'),
  emojiset: oneOf(['default', 'text'], 'default'),
  demote_inactive_streams: oneOf([1, 2, 3], 1, '1 automatic, 2 always, 3 never'),
  user_list_style: oneOf([1, 2, 3], 3, '1 compact, 2 with status, 3 with avatar'),
  web_animate_image_previews: oneOf(['always', 'on_hover', 'never'], 'on_hover'),
  web_stream_unreads_count_display_policy: oneOf([1, 2, 3], 2, '1 all, 2 unmuted, 3 none'),
  enable_drafts_synchronization: on,
  enable_stream_desktop_notifications: off,
  enable_stream_email_notifications: off,
  enable_stream_push_notifications: off,
  enable_stream_audible_notifications: off,
  notification_sound: oneOf([...NOTIFICATION_SOUNDS, 'none'], 'default'),
  enable_desktop_notifications: on,
  enable_sounds: on,
  enable_offline_email_notifications: on,
  enable_offline_push_notifications: on,
  enable_online_push_notifications: on,
  message_content_in_email_notifications: on,
  pm_content_in_desktop_notifications: on,
  wildcard_mentions_notify: on,
  enable_digest_emails: on,
  enable_marketing_emails: on,
  enable_login_emails: on,
  enable_followed_topic_desktop_notifications: on,
  enable_followed_topic_email_notifications: on,
  enable_followed_topic_push_notifications: on,
  enable_followed_topic_audible_notifications: on,
  enable_followed_topic_wildcard_mentions_notify: on,
  email_notifications_batching_period_seconds: setting(z.int().min(1).max(604_800), 120),
  desktop_icon_count_display: oneOf(
    [1, 2, 3, 4],
    1,
    '1 all, 2 direct messages, mentions and followed topics, 3 direct messages and mentions, 4 none',
  ),
  realm_name_in_email_notifications_policy: oneOf([1, 2, 3], 1, '1 automatic, 2 always, 3 never'),
  automatically_follow_topics_policy: oneOf([1, 2, 3, 4], 3, WHEN),
  automatically_unmute_topics_in_muted_streams_policy: oneOf([1, 2, 3, 4], 2, WHEN),
  automatically_follow_topics_where_mentioned: on,
  resolved_topic_notice_auto_read_policy: oneOf(['always', 'except_followed', 'never'], 'except_followed'),
  presence_enabled: on,
  send_private_typing_notifications: on,
  send_stream_typing_notifications: on,
  send_read_receipts: on,
  allow_private_data_export: off,
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
