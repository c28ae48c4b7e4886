import { Prisma, type Realm } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';

/** Who receives a message: the users listed, and the subscribers of a channel. */
export interface Receivers {
  readonly userIds: readonly number[];
  readonly channelId?: number;
}

/** What may stand around an alert word, besides the beginning and the end. */
const BEFORE = ' \n(".,\';[*`>';
const AFTER = " \n)?:.,';]!*`";
/** Either. */
const SEPARATORS = /[ \n()"'?:.,;[\]!*`>]/;

/**
 * The part of an alert word that ends with it, or before the first character that may stand around a word; in lower case.
 * Where the word stands by itself, so does its head: messages are taken apart in the same way, and looked up by their
 * parts.
 */
export const headOf = (word: string): string => word.toLowerCase().split(SEPARATORS, 1)[0] ?? '';

/**
 * The users with an alert word in the content, among those who receive it.
 *
 * No query in an organisation where nobody ever had an alert word, else one, whose cost grows with the content and not
 * with how many words there are.
 *
 * @param content Source text.
 * @param among Those who receive it; null for everybody.
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
  if (channelId === undefined) return isListed;
  return Prisma.sql`(${isListed} OR EXISTS (
    SELECT FROM subscription s WHERE s.realm_id = a.realm_id AND s.user_id = a.user_id AND s.channel_id = ${channelId} AND s.active))`;
}

/** Whether the word stands in the content by itself; both in lower case. */
function standsIn(content: string, word: string): boolean {
  for (let at = content.indexOf(word); at !== -1; at = content.indexOf(word, at + 1)) {
    const end = at + word.length;
    const begins = at === 0 || BEFORE.includes(content.charAt(at - 1));
    if (begins && (end === content.length || AFTER.includes(content.charAt(end)))) return true;
  }
  return false;
}
