import type { Ctx } from '../../access/context.ts';
import { visibleTo as visibleGroups } from '../../administration/user-groups/access.ts';
import { readableChannelIds, visibleTo as visibleChannels } from '../../channels/access.ts';
import { readChannelRowKeys } from '../../channels/channel-list.ts';
import { type Channel, Prisma, type User, type UserGroup } from '../../generated/prisma/client.ts';
import type { Topic } from '../../messages/topics/topic-pages.ts';
import { newestTopics } from '../../messages/topics/topics.ts';
import { visibleTo as visibleUsers } from '../../people/users.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { ValidationError } from '../../platform/errors.ts';
import { nameWords, searchableWords, wordBeginning } from '../../platform/folding.ts';
import { isGuest } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';

const { sql } = Prisma;

/** Kinds of objects that are suggested for a typed name. */
export const KINDS = ['User', 'Channel', 'UserGroup', 'Topic'] as const;
export type Kind = (typeof KINDS)[number];

/** Maximum length of the typed text, in characters. No name is longer. Longer text is refused with ValidationError. */
const MAX_TEXT_LENGTH = 100;
/**
 * Maximum number of suggestions of each kind that a client can request. A larger number is refused with ValidationError. Users
 * do not read longer lists.
 */
export const MAX_OF_EACH = 20;
/** Maximum number of topics of a channel that are searched: those with the newest messages. Older topics are not suggested. */
const TOPICS_LOOKED_THROUGH = 1_000;

export interface Beginning {
  /** The text that the user has typed so far. Case is ignored. An empty text matches every name. */
  readonly text: string;
  readonly kinds: readonly Kind[];
  /** Id of the channel whose topics are suggested. If undefined, no topics are. */
  readonly channelId: number | undefined;
  /** Maximum number of results of each kind: 1 to `MAX_OF_EACH`. Other numbers are refused with ValidationError. */
  readonly limit: number;
}

export type Suggestion =
  | { readonly kind: 'User'; readonly found: User }
  | { readonly kind: 'Channel'; readonly found: Channel }
  | { readonly kind: 'UserGroup'; readonly found: UserGroup }
  | { readonly kind: 'Topic'; readonly found: Topic & { readonly channelId: number } };

/**
 * Returns the objects whose name the viewer may be typing, kind by kind. For each kind, names that begin with the text come
 * first, then names in which each word of the text is the beginning of a word. Within both groups, topics are sorted by their
 * newest message, and other kinds by name.
 *
 * Case, accents and punctuation are ignored. A word also begins where the case changes ("deckWinch"), at each letter of scripts
 * without spaces, between letters and digits, and after an apostrophe. Deactivated users and groups and archived channels are
 * excluded.
 *
 * @throws ValidationError if the text is too long or contains a null byte, or the limit is not from 1 to 20.
 */
export async function suggest(ctx: Ctx, { kinds, channelId, limit, ...given }: Beginning): Promise<Suggestion[]> {
  const text = requireText('text', given.text, { max: MAX_TEXT_LENGTH, strip: true });
  if (limit < 1 || limit > MAX_OF_EACH) {
    const details = { parameter: 'first', minimum: 1, maximum: MAX_OF_EACH, value: limit };
    throw new ValidationError(`"first" must be between 1 and ${MAX_OF_EACH}`, details);
  }
  const words = nameWords(text);
  // No name begins with a text that contains only punctuation.
  if (text !== '' && words === '') return [];
  const { db } = ctx.work;
  const named = (rows: Prisma.Sql, most = limit): Promise<number[]> =>
    idsByName(db, { organizationId: ctx.organizationId, rows, words, limit: most });
  const byKind: Readonly<Record<Kind, () => Promise<Suggestion[]>>> = {
    User: async () => {
      const ids = await named(sql`user_account WHERE is_active AND NOT is_system`);
      const where = { AND: [visibleUsers(ctx.viewer), { id: { in: ids } }] };
      return inOrderOf(ids, await db.user.findMany({ where })).map((found) => ({ kind: 'User', found }));
    },
    Channel: async () => {
      const ids = words === '' ? await firstChannelIds(ctx, limit) : await visibleChannelIds(ctx, named, limit);
      const where = { organizationId: ctx.organizationId, id: { in: ids } };
      return inOrderOf(ids, await db.channel.findMany({ where })).map((found) => ({ kind: 'Channel', found }));
    },
    UserGroup: async () => {
      // Guests see no groups.
      if (isGuest(ctx.viewer.role)) return [];
      const ids = await named(sql`user_group WHERE deactivated_at IS NULL`);
      const where = { AND: [visibleGroups(ctx), { id: { in: ids } }] };
      return inOrderOf(ids, await db.userGroup.findMany({ where })).map((found) => ({ kind: 'UserGroup', found }));
    },
    Topic: async () => {
      if (channelId === undefined || !(await readableChannelIds(ctx, [channelId])).has(channelId)) return [];
      const topics = await newestTopics(ctx, channelId, TOPICS_LOOKED_THROUGH);
      const ranked = topics.map((topic) => ({ topic, rank: rankOf(searchableWords(topic.name), words) }));
      const found = [0, 1].flatMap((rank) => ranked.filter((one) => one.rank === rank)).slice(0, limit);
      return found.map(({ topic }) => ({ kind: 'Topic', found: { ...topic, channelId } }));
    },
  };
  return (await Promise.all(kinds.map((kind) => byKind[kind]()))).flat();
}

/**
 * Returns how well a name matches: 0 if it begins with `words`, 1 if each of `words` is the beginning of a word in the name,
 * otherwise 2.
 */
function rankOf(name: string, words: string): number {
  if (name.startsWith(words)) return 0;
  return words.split(' ').every((word) => ` ${name}`.includes(` ${wordBeginning(word)}`)) ? 1 : 2;
}

interface NameSearch {
  readonly organizationId: number;
  /** SQL with the table to search and a condition for its rows: `channel WHERE NOT is_archived`. */
  readonly rows: Prisma.Sql;
  /** The words of the typed text, as returned by `nameWords`. Empty: all rows match. */
  readonly words: string;
  readonly limit: number;
}

/**
 * Returns the ids of at most `limit` rows by name. Names that begin with the words come first, then names in which each of the
 * words is the beginning of a word. The search uses an index, and without words the index in the order of names.
 */
async function idsByName(db: SqlClient, { organizationId, rows, words, limit }: NameSearch): Promise<number[]> {
  const query = words.split(' ').map((word) => `'${organizationId}.${wordBeginning(word)}':*`);
  const [condition, rank] =
    words === ''
      ? [sql`true`, sql``]
      : [
          sql`search_name_vector(realm_id, name_words) @@ ${query.join(' & ')}::text::tsquery`,
          sql`starts_with(name_words, ${words}) DESC,`,
        ];
  const found = await readRows<{ id: number }>(
    db,
    sql`
    SELECT id FROM ${rows} AND realm_id = ${organizationId} AND ${condition}
    ORDER BY ${rank} sort_name, id LIMIT ${limit}::int`,
  );
  return found.map(({ id }) => id);
}

/**
 * Maximum number of channels with matching names that are fetched. If more names match, the text is too short for a useful
 * choice.
 */
const MAX_FITTING = 10_000;

/** Returns the ids of the first channels with matching names that the viewer can see. */
async function visibleChannelIds(
  ctx: Ctx,
  named: (rows: Prisma.Sql, most: number) => Promise<number[]>,
  limit: number,
): Promise<number[]> {
  const ids = await named(sql`channel WHERE NOT is_archived`, MAX_FITTING);
  const where = { AND: [await visibleChannels(ctx), { id: { in: ids } }] };
  const seen = ids.length === 0 ? [] : await ctx.work.db.channel.findMany({ where, select: { id: true } });
  return inOrderOf(ids, seen)
    .slice(0, limit)
    .map(({ id }) => id);
}

/** Returns the ids of the first channels by name that the viewer can see. */
async function firstChannelIds(ctx: Ctx, limit: number): Promise<number[]> {
  const bounds = { above: undefined, below: undefined };
  const rowKeys = await readChannelRowKeys(ctx, {}, { field: 'name', descending: false, limit, ...bounds });
  return rowKeys.map(({ id }) => id);
}

/** Returns rows in the order of `ids`. */
function inOrderOf<Row extends { readonly id: number }>(ids: readonly number[], rows: readonly Row[]): Row[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
