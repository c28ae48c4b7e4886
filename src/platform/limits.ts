/** Limits that are published to clients. Lengths are in Unicode code points. */

export const MAX_MESSAGE_LENGTH = 10_000;
export const MAX_TOPIC_LENGTH = 60;
export const MAX_CHANNEL_NAME_LENGTH = 60;
export const MAX_CHANNEL_DESCRIPTION_LENGTH = 1024;
export const MAX_CHANNEL_FOLDER_NAME_LENGTH = 60;
export const MAX_CHANNEL_FOLDER_DESCRIPTION_LENGTH = 1024;
export const MAX_REMINDER_NOTE_LENGTH = 500;
export const MAX_BULK_NEW_SUBSCRIPTION_MESSAGES = 100;
export const MAX_ORGANIZATION_NAME_LENGTH = 40;
export const MAX_ORGANIZATION_DESCRIPTION_LENGTH = 1000;
export const MAX_FULL_NAME_LENGTH = 100;
/** Seconds that a client should wait for a response to GET /events. Longer than the heartbeat interval. */
export const LONGPOLL_TIMEOUT_SECONDS = 90;
/**
 * Maximum size of uploaded files by kind, in MiB. Larger files are refused with `ValidationError`. `upload` is for files that
 * messages link.
 */
export const MAX_FILE_SIZES_MIB = { avatar: 5, emoji: 5, icon: 5, logo: 5, upload: 100 } as const;
/** Minimum strength of a new password, as the number of guesses that it withstands. Clients should refuse weaker passwords. */
export const MIN_PASSWORD_GUESSES = 10_000;
export const TYPING_MS = { startedExpiry: 45_000, stoppedWait: 12_000, startedWait: 30_000 } as const;
export const PRESENCE_SECONDS = { pingInterval: 60, offlineThreshold: 200 } as const;
/** Reasons for which a message can be reported, in display order. */
export const REPORT_TYPES = [
  { key: 'spam', name: 'Spam' },
  { key: 'harassment', name: 'Harassment' },
  { key: 'inappropriate', name: 'Inappropriate content' },
  { key: 'norms', name: 'Violates community norms' },
  { key: 'other', name: 'Other reason' },
] as const;
