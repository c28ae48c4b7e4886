import { TotalReachedError } from './errors.ts';

/** A limit on the number, or on the total length, of objects of one kind, such as drafts. */
interface Total {
  readonly max: number;
  /** Documentation of the limit, without its final full stop. */
  readonly description: string;
  /** Details for the table of totals in src/api/README.md, without the final full stop. */
  readonly note?: string;
  /** Error message, without its final full stop. */
  readonly refusal: string;
}

/**
 * Returns a limit on the number of objects of a user.
 *
 * @param which Condition for the objects that count: "that you created". Undefined: all objects of the user count.
 */
const ofUser = (max: number, things: string, which?: { readonly you: string; readonly they: string }): Total => ({
  max,
  description: `Maximum number of ${things}${which === undefined ? '' : ` ${which.they}`} per user`,
  refusal: `You cannot have more than ${max} ${things}${which === undefined ? '' : ` ${which.you}`}`,
});
const ofOrganization = (max: number, things: string): Total => ({
  max,
  description: `Maximum number of ${things} in the organization`,
  refusal: `An organization cannot have more than ${max} ${things}`,
});
const lengthOf = (max: number, things: string): Total => ({
  max,
  description: `Maximum total length of the ${things} of a user, in Unicode code points`,
  refusal: `Your ${things} cannot be longer than ${max} characters in total`,
});
const ofEach = (max: number, owner: string, things: string, can = 'have'): Total => ({
  max,
  description: `Maximum number of ${things} of a ${owner}`,
  refusal: `A ${owner} cannot ${can} more than ${max} ${things}`,
});

const CREATED = { you: 'that you created', they: 'created' };

/**
 * Limits for everything that users can accumulate. Normal use does not reach them. In the worst case, a list that is not
 * paginated has a few megabytes. A registration response contains at most `drafts` drafts. Lengths are in Unicode code points.
 *
 * The limits are declared only here: clients receive each limit as `max_<name>`, errors contain this name, and `npm run schema`
 * writes the table in src/api/README.md. Users already over a limit, because it was lowered or is new, can edit and delete, but
 * not add.
 */
export const TOTALS = {
  drafts: ofUser(1_000, 'drafts'),
  drafts_total_length: lengthOf(500_000, 'drafts'),
  saved_snippets: ofUser(1_000, 'saved snippets'),
  saved_snippets_total_length: lengthOf(500_000, 'saved snippets'),
  scheduled_messages: {
    ...ofUser(1_000, 'scheduled messages'),
    note: 'Messages that were already sent do not count',
  },
  scheduled_messages_total_length: {
    ...lengthOf(2_000_000, 'scheduled messages'),
    note: 'With their HTML, because lists contain it',
  },
  reminders: ofUser(1_000, 'reminders'),
  reminders_total_length: {
    ...lengthOf(1_000_000, 'reminders'),
    note: 'With the quoted messages, and the HTML of both',
  },
  /** The limit is low because each word is searched for in every message that the user could receive. */
  alert_words: ofUser(500, 'alert words'),
  navigation_views: ofUser(1_000, 'navigation views'),
  user_topics: {
    ...ofUser(10_000, 'topics with a visibility policy'),
    note: 'Policies set by participation stop at 9,000, without a refusal. `muted_topics` events contain at most 500 topics',
  },
  attachments: ofUser(20_000, 'files', { you: 'that you uploaded', they: 'uploaded' }),
  attachments_total_mib: {
    max: 5_120,
    description: 'Maximum total size of the files uploaded by a user, in MiB',
    refusal: 'Your files cannot be larger than 5120 MiB in total',
  },
  starred_messages: ofUser(100_000, 'starred messages'),
  event_queues: {
    ...ofUser(100, 'event queues'),
    note:
      'Default of `EVENT_QUEUES_PER_USER`. If another queue is registered, the least recently used queue ends. ' +
      'Registrations are not refused, because a client that crashes a hundred times must not lock its user out ' +
      'for a week',
  },
  sessions: {
    ...ofUser(100, 'signed-in browsers'),
    note: 'If the user signs in to another browser, the least recently used session ends. Sign-ins are not refused',
  },
  push_devices: ofUser(50, 'devices with push notifications'),
  api_keys: ofUser(100, 'API keys with a name'),
  passkeys: ofUser(10, 'passkeys'),
  idempotency_keys: {
    ...ofUser(400_000, 'idempotency keys in use'),
    note: 'Keys are stored for eight days, so the limit permits 35 new keys per minute',
  },
  /**
   * Includes deactivated bots, because they are listed and can be reactivated. The limits below, up to `custom_emoji_per_user`,
   * also count deactivated objects.
   */
  bots_per_user: ofUser(200, 'bots'),
  /**
   * Administrators are exempt from this limit and the next two, but not from the limits of the organization. Objects that bots
   * create count for their owner as well.
   */
  user_groups_per_user: ofUser(200, 'user groups', CREATED),
  channels_per_user: ofUser(1_000, 'channels', CREATED),
  custom_emoji_per_user: ofUser(500, 'custom emoji', { you: 'that you added', they: 'added' }),
  reactions_per_user_and_message: ofUser(25, 'reactions on a message'),
  /**
   * Counts every reaction, also one with an emoji that the message already has, because lists of messages return every
   * reaction.
   */
  reactions_per_message: ofEach(5_000, 'message', 'reactions'),
  emoji_per_message: {
    max: 100,
    description: 'Maximum number of different emoji in the reactions of a message',
    refusal: 'A message cannot have reactions with more than 100 different emoji',
    note: 'Further reactions with an emoji that the message already has are accepted',
  },
  /** Counts users and groups together, because a registration response lists the permissions of every channel and group. */
  holders_per_permission: ofEach(1_000, 'permission', 'users and groups', 'name'),
  versions_per_message: {
    ...ofEach(1_000, 'message', 'earlier versions'),
    note:
      'Edits of the content within a minute are one version. Moves are never refused: beyond 100 moves, the newest two are ' +
      'stored as one',
  },
  /**
   * Counts the UTF-8 bytes of the content and HTML of all versions of a message, including the current version. The edit
   * history contains each text up to four times: after the edit, before the next edit, and in two diffs. So an edit history has
   * at most 16 MiB, the maximum size of a page.
   */
  versions_per_message_total_bytes: {
    max: 4_194_304,
    description: 'Maximum total length of the text and HTML of all versions of a message, in UTF-8 bytes',
    refusal: 'The versions of a message cannot be longer than 4194304 bytes in total, as text and HTML',
  },
  joins_per_user_and_channel: {
    max: 1_000,
    description:
      'Maximum number of times that a user can join the same channel. A join does not count if the channel received ' +
      'no message and no event since the user left it',
    refusal: 'A user cannot join the same channel more than 1000 times',
  },
  user_groups: {
    ...ofOrganization(2_500, 'user groups'),
    note: 'Without role groups',
  },
  channels: ofOrganization(5_000, 'channels'),
  channel_folders: ofOrganization(1_000, 'channel folders'),
  custom_emoji: ofOrganization(5_000, 'custom emoji'),
  /** The limit is low because every client receives the whole list of these fields. */
  custom_profile_fields: ofOrganization(100, 'custom profile fields'),
  realm_domains: ofOrganization(1_000, 'domains'),
  /**
   * Invitations that can still be used. Invitations that people requested on the page of a reusable link are counted
   * separately.
   */
  invitations: ofOrganization(5_000, 'open invitations'),
  identity_providers: ofOrganization(20, 'identity providers'),
} as const satisfies Record<string, Total>;

export type TotalName = keyof typeof TOTALS;
export const TOTAL_NAMES = Object.keys(TOTALS) as TotalName[];

export const wireNameOf = <N extends TotalName>(name: N): `max_${N}` => `max_${name}`;

export type WireTotals = { readonly [N in TotalName as `max_${N}`]: number };

/** Returns all limits as clients receive them. The limit of event queues is the operator's setting. */
export function publishedTotals({ queuesPerUser }: { readonly queuesPerUser: number }): WireTotals {
  const all = TOTAL_NAMES.map((name) => [wireNameOf(name), TOTALS[name].max]);
  return { ...(Object.fromEntries(all) as WireTotals), max_event_queues: queuesPerUser };
}

/**
 * Checks a limit. Call it inside the transaction that adds objects, under a lock that every such transaction takes. For objects
 * of a user, this is the lock of the user's row. Concurrent transactions then cannot exceed the limit.
 *
 * @param held Number or total length of the objects after the addition.
 * @throws TotalReachedError if `held` is over the limit.
 */
export function requireWithin(name: TotalName, held: number): void {
  const { max, refusal } = TOTALS[name];
  if (held > max) throw new TotalReachedError(`${refusal}.`, wireNameOf(name));
}
