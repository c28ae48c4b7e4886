import { USER_SETTINGS } from '../../access/user-settings.ts';
import { settingsNamed } from '../../platform/setting.ts';

/** Settings that pages of the previous version send beside the account's data, instead of in `settings`. */
export const FORMER_INPUTS = settingsNamed(USER_SETTINGS, [
  ...(['color_scheme', 'web_font_size_px', 'default_language', 'twenty_four_hour_time', 'timezone'] as const),
  ...(['enter_sends', 'translate_emoticons', 'presence_enabled', 'send_read_receipts'] as const),
  ...(['send_stream_typing_notifications', 'email_address_visibility', 'receives_typing_notifications'] as const),
  ...(['display_emoji_reaction_users', 'automatically_follow_topics_policy'] as const),
  ...(['automatically_unmute_topics_in_muted_streams_policy', 'web_mark_read_on_scroll_policy'] as const),
]);
