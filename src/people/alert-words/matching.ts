import { Prisma, type Realm } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';

/** Recipients of a message: the listed users and the subscribers of a channel, if it is not null. */
export interface Receivers {
  readonly userIds: readonly number[];
  readonly channelId: number | null;
}

/** Characters that can precede (`BEFORE`) or follow (`AFTER`) an alert word, besides the start and end of the text. */
const BEFORE = ' \n(".,\';[*`>';
const AFTER = " \n)?:.,';]!*`";
/** All characters of `BEFORE` and `AFTER`. */
const SEPARATORS = /[ \n()"'?:.,;[\]!*`>]/;

/**
 * Returns the part of an alert word before its first separator, in lower case. Messages are split at these separators too. So
 * if a message contains the alert word, one part of the message is equal to the word's first part.
 */
export const headOf = (word: string): string => word.toLowerCase().split(SEPARATORS, 1)[0] ?? '';

/**
 * Returns the recipients of a message that have an alert word in its content.
 *
 * No query runs if the organization never had an alert word. Otherwise one query runs; its cost grows with the content,
 * not with the number of alert words.
 *
 * @param content Source text.
 * @param among Recipients of the message. Null: all users of the organization.
 */
export async function alertedUserIds(
  db: SqlClient,
  realm: Pick<Realm, 'id' | 'hasAlertWords'>,
  content: string,
  among: Receivers | null,
): Promise<number[]> {
  if (!realm.hasAlertWords) return [];
  const lowered = content.toLowerCase();
  // A word that begins with a separator has an empty head.
  const heads = [...new Set(['', ...lowered.split(SEPARATORS)])];
  const rows = await db.$queryRaw<{ user_id: number; word: string }[]>`
    SELECT a.user_id, a.word FROM alert_word a
    WHERE a.realm_id = ${realm.id} AND a.head = ANY(${heads}::text[]) AND ${receives(among)}`;
  const words = new Set(rows.map(({ word }) => word.toLowerCase()));
  const standing = new Set([...words].filter((word) => standsIn(lowered, word)));
  return [...new Set(rows.filter(({ word }) => standing.has(word.toLowerCase())).map(({ user_id }) => user_id))];
}

function receives(among: Receivers | null): Prisma.Sql {
  if (among === null) return Prisma.sql`true`;
  const { userIds, channelId } = among;
  const isListed = Prisma.sql`a.user_id = ANY(${[...userIds]}::int[])`;
  if (channelId === null) return isListed;
  return Prisma.sql`(${isListed} OR EXISTS (
    SELECT FROM subscription s WHERE s.realm_id = a.realm_id AND s.user_id = a.user_id AND s.channel_id = ${channelId} AND s.active))`;
}

/** Returns whether the word occurs in the content by itself, not as a part of a longer word. Both are in lower case. */
function standsIn(content: string, word: string): boolean {
  for (let at = content.indexOf(word); at !== -1; at = content.indexOf(word, at + 1)) {
    const end = at + word.length;
    const begins = at === 0 || BEFORE.includes(content.charAt(at - 1));
    if (begins && (end === content.length || AFTER.includes(content.charAt(end)))) return true;
  }
  return false;
}
