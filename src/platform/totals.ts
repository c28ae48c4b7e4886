import { TotalReachedError } from './errors.ts';

/** How much of one thing there may be. */
interface Total {
  readonly max: number;
  /** The whole sentence of the refusal, without its full stop. */
  readonly refusal: string;
}

const ofUser = (max: number, things: string): Total => ({ max, refusal: `You cannot have more than ${max} ${things}` });
const ofOrganization = (max: number, things: string): Total => ({
  max,
  refusal: `An organization cannot have more than ${max} ${things}`,
});
const lengthOf = (max: number, things: string): Total => ({
  max,
  refusal: `Your ${things} cannot be longer than ${max} characters together`,
});

/**
 * How much there may be of everything that people can pile up. All are our choice, but for the drafts: as many as a
 * registration returns. No honest user meets one; the worst somebody can do within them keeps every list that has no
 * pages at some megabytes. Lengths are in Unicode code points.
 *
 * Clients are told each as `max_<name>`, refusals name it, and src/api/README.md lists them: here is where they are
 * declared. Who is above one, because it was lower or not there before, may take away and change, and only not add.
 */
export const TOTALS = {
  drafts: ofUser(1_000, 'drafts'),
  drafts_total_length: lengthOf(500_000, 'drafts'),
  saved_snippets: ofUser(1_000, 'saved snippets'),
  saved_snippets_total_length: lengthOf(500_000, 'saved snippets'),
  /** Those that are sent count no more. */
  scheduled_messages: ofUser(1_000, 'scheduled messages'),
  /** With their HTML, which is listed too. */
  scheduled_messages_total_length: lengthOf(2_000_000, 'scheduled messages'),
  reminders: ofUser(1_000, 'reminders'),
  /** With the messages they quote, and their HTML. */
  reminders_total_length: lengthOf(1_000_000, 'reminders'),
  /** Each is looked for in every message that user could receive. */
  alert_words: ofUser(500, 'alert words'),
  navigation_views: ofUser(1_000, 'navigation views'),
  user_topics: ofUser(10_000, 'topics with a visibility policy'),
  starred_messages: ofUser(100_000, 'starred messages'),
  /**
   * Unless the operator sets another. Over it the least recently used goes: nobody whose client dies a hundred times
   * must be locked out for a week.
   */
  event_queues: ofUser(100, 'event queues'),
  /** Over it the one that was not seen for longest goes: nothing is refused. */
  sessions: ofUser(100, 'browsers signed in'),
  /** Within the two days for which they are kept. */
  idempotency_keys: ofUser(100_000, 'idempotency keys in use'),
  /** Those deactivated included, as in the three below: they are listed too, and come back. */
  bots_per_user: ofUser(200, 'bots'),
  /** In the three of these, administrators go by what the organisation may have. */
  user_groups_per_user: ofUser(200, 'user groups of your own making'),
  channels_per_user: ofUser(1_000, 'channels of your own making'),
  custom_emoji_per_user: ofUser(500, 'custom emoji of your own'),
  reactions_per_user_and_message: ofUser(25, 'reactions on a message'),
  emoji_per_message: { max: 100, refusal: 'A message cannot have reactions of more than 100 different emoji' },
  user_groups: ofOrganization(2_500, 'user groups'),
  channels: ofOrganization(5_000, 'channels'),
  channel_folders: ofOrganization(1_000, 'channel folders'),
  custom_emoji: ofOrganization(5_000, 'custom emoji'),
  /** Every client is sent all of them at once. */
  custom_profile_fields: ofOrganization(100, 'custom profile fields'),
  realm_domains: ofOrganization(1_000, 'domains'),
} as const satisfies Record<string, Total>;

export type TotalName = keyof typeof TOTALS;
export const TOTAL_NAMES = Object.keys(TOTALS) as TotalName[];

export const wireNameOf = <N extends TotalName>(name: N): `max_${N}` => `max_${name}`;

export type WireTotals = { readonly [N in TotalName as `max_${N}`]: number };

/** All totals as clients are told them. Of queues, what the operator has set. */
export function toldTotals({ queuesPerUser }: { readonly queuesPerUser: number }): WireTotals {
  const all = TOTAL_NAMES.map((name) => [wireNameOf(name), TOTALS[name].max]);
  return { ...(Object.fromEntries(all) as WireTotals), max_event_queues: queuesPerUser };
}

/**
 * Refuses what would be too much. To be asked inside the change that adds, behind a lock that all who add take (the
 * user's row for what is one user's): so of two that come together at the edge one is refused.
 *
 * @param held How much there is, with what is being added.
 * @throws TotalReachedError
 */
export function requireWithin(name: TotalName, held: number): void {
  const { max, refusal } = TOTALS[name];
  if (held > max) throw new TotalReachedError(`${refusal}.`, wireNameOf(name));
}
