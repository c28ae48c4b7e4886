import { type Organization, Prisma } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';

/** Recipients of a message: the users in `userIds` and, unless `channelId` is null, the subscribers of this channel. */
export interface Receivers {
  readonly userIds: readonly number[];
  readonly channelId: number | null;
}

/**
 * Characters that can precede (`BEFORE`) or follow (`AFTER`) an alert word. A word can also be at the start or at the end of
 * the text.
 */
const BEFORE = ' \n(".,\';[*`>';
const AFTER = " \n)?:.,';]!*`";
/** Matches the characters of `BEFORE` and `AFTER`. */
const SEPARATORS = /[ \n()"'?:.,;[\]!*`>]/;

/**
 * Returns the head of an alert word: its text before the first separator, in lower case. Messages are split at the same
 * separators, so a message with the alert word has a part that equals the head.
 */
export const headOf = (word: string): string => word.toLowerCase().split(SEPARATORS, 1)[0] ?? '';

/**
 * Returns the ids of the recipients who have an alert word that the content of the message contains.
 *
 * If the organization never had an alert word, no query runs. Otherwise one query runs, whose cost grows with the length of the
 * content, not with the number of alert words.
 *
 * @param content Source text of the message.
 * @param among Recipients of the message. Null: all users of the organization.
 */
export async function alertedUserIds(
  db: SqlClient,
  organization: Pick<Organization, 'id' | 'hasAlertWords'>,
  content: string,
  among: Receivers | null,
): Promise<number[]> {
  if (!organization.hasAlertWords) return [];
  const lowered = content.toLowerCase();
  // The empty head is always searched for: an alert word that begins with a separator has an empty head.
  const heads = [...new Set(['', ...lowered.split(SEPARATORS)])];
  const rows = await db.$queryRaw<{ user_id: number; word: string }[]>`
    SELECT a.user_id, a.word FROM alert_word a
    WHERE a.realm_id = ${organization.id} AND a.head = ANY(${heads}::text[]) AND ${receives(organization.id, among)}`;
  const words = new Set(rows.map(({ word }) => word.toLowerCase()));
  const contained = new Set([...words].filter((word) => containsWord(lowered, word)));
  return [...new Set(rows.filter(({ word }) => contained.has(word.toLowerCase())).map(({ user_id }) => user_id))];
}

function receives(organizationId: number, among: Receivers | null): Prisma.Sql {
  if (among === null) return Prisma.sql`true`;
  const { userIds, channelId } = among;
  const isListed = Prisma.sql`a.user_id = ANY(${[...userIds]}::int[])`;
  if (channelId === null) return isListed;
  return Prisma.sql`(${isListed} OR EXISTS (
    SELECT FROM subscription s
    WHERE s.realm_id = ${organizationId} AND s.user_id = a.user_id AND s.channel_id = ${channelId} AND s.active))`;
}

/** Returns whether the word occurs in the content by itself, not as a part of a longer word. Both are in lower case. */
function containsWord(content: string, word: string): boolean {
  for (let at = content.indexOf(word); at !== -1; at = content.indexOf(word, at + 1)) {
    const end = at + word.length;
    const begins = at === 0 || BEFORE.includes(content.charAt(at - 1));
    if (begins && (end === content.length || AFTER.includes(content.charAt(end)))) return true;
  }
  return false;
}
