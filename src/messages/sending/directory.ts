import type { App, Viewer } from '../../access/context.ts';
import { type SystemGroupName, systemGroups } from '../../access/system-groups.ts';
import { type Guarded, hasProtectedHistory, readsChannel } from '../../channels/access.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import type { Channel } from '../../generated/prisma/client.ts';
import type { References } from '../../markdown/references.ts';
import type { Directory, DirectoryGroup, DirectoryUser } from '../../markdown/types.ts';
import { emojiImageUrl } from '../../people/emoji/wire.ts';
import type { Tx } from '../../platform/db/client.ts';
import { urlOf } from '../../platform/hosts.ts';
import { receivedBy } from '../access.ts';

type DirectoryDb = Pick<Tx, 'userGroup' | '$queryRaw'>;

/** User who wrote the text for which entities are loaded (see `loadDirectory`). */
type Author = Pick<Viewer, 'id' | 'role' | 'organization' | 'user'>;

/** Names that mentions of role groups show, by group name. */
const ROLE_GROUPS: ReadonlyMap<string, string> = new Map<SystemGroupName, string>([
  ['role:internet', 'Everyone on the internet'],
  ['role:everyone', 'Everyone'],
  ['role:members', 'Members'],
  ['role:fullmembers', 'Full members'],
  ['role:moderators', 'Moderators'],
  ['role:administrators', 'Administrators'],
  ['role:owners', 'Owners'],
  ['role:nobody', 'Nobody'],
]);

/** A channel to which a text refers and that the author of the text can read. */
interface ReferencedChannel {
  readonly id: number;
  readonly name: string;
  /** Whether the author can read only those messages of the channel that they received. */
  readonly isProtected: boolean;
}

/**
 * Loads the users, groups, channels, messages and custom emoji to which a text refers. Omits channels and messages that the
 * author cannot read. Uses one query for each kind of entity in the text, and none for a text without references.
 *
 * @param db Database client or transaction.
 * @param author Users with `isSystem` can see every channel.
 * @param references References in the text, from `referencesIn`.
 */
export async function loadDirectory(
  db: DirectoryDb,
  app: Pick<App, 'config' | 'now'>,
  author: Author,
  references: References,
): Promise<Directory> {
  const { userNames, userIds, groupNames, groupNamesLikeUsers, channelNames, topics, emojiNames } = references;
  // The queries run one after another: a transaction has one connection, and few texts refer to several kinds of entities.
  const users = userNames.length + userIds.length === 0 ? undefined : await loadUsers(db, author, references);
  const isComplete = userNames.every((name) => users?.byName.has(name)) && userIds.every((id) => users?.byId.has(id));
  const allGroupNames = isComplete ? groupNames : [...groupNames, ...groupNamesLikeUsers];
  const groups = allGroupNames.length === 0 ? undefined : await loadGroups(db, author, allGroupNames);
  const channels = channelNames.length === 0 ? undefined : await loadChannels(db, author, references, app.now());
  const latest =
    topics.length === 0 || channels === undefined ? undefined : await loadLatest(db, author, references, channels);
  const emoji = emojiNames.length === 0 ? undefined : await loadEmoji(db, author, references);
  return {
    organizationUrl: urlOf(app.config, author.organization.subdomain),
    emptyTopicName: emptyTopicName(author.organization),
    userNamed: (name) => users?.byName.get(name),
    userWithId: (id) => users?.byId.get(id),
    groupNamed: (name) => groups?.get(name),
    channelNamed: (name) => channels?.get(name),
    latestMessageId: (channelId, topic) => latest?.get(topicReference(channelId, topic)),
    customEmoji: (name) => emoji?.get(name),
  };
}

/** Users to whom a text refers, by the names and by the ids in the text. */
interface ReferencedUsers {
  readonly byName: ReadonlyMap<string, DirectoryUser>;
  readonly byId: ReadonlyMap<number, DirectoryUser>;
}

/** Loads the active custom emoji named in `emojiNames`. Returns their image URLs by name. */
async function loadEmoji(
  db: DirectoryDb,
  { organization }: Author,
  { emojiNames }: References,
): Promise<Map<string, { url: string }>> {
  const rows = await db.$queryRaw<{ name: string; imageId: string }[]>`
    SELECT name, image_id AS "imageId" FROM custom_emoji
    WHERE realm_id = ${organization.id} AND name = ANY(${[...emojiNames]}::text[]) AND deactivated_at IS NULL`;
  return new Map(rows.map(({ name, imageId }) => [name, { url: emojiImageUrl(imageId) }]));
}

/** Returns the key of a topic in the map that `loadLatest` returns. */
const topicReference = (channelId: number, topic: string) => `${channelId} ${topic}`;

interface UserRow extends DirectoryUser {
  /** Name by which a text mentions the user. Null if the text refers to the user by id. */
  readonly asked: string | null;
}

async function loadUsers(
  db: DirectoryDb,
  { organization }: Author,
  { userNames, userIds }: References,
): Promise<ReferencedUsers> {
  const rows = await db.$queryRaw<UserRow[]>`
    SELECT asked.name AS asked, u.id, u.full_name AS "fullName", u.is_active AS "isActive"
    FROM unnest(${[...userNames]}::text[]) AS asked (name)
    JOIN user_account u ON u.realm_id = ${organization.id} AND lower(u.full_name) = lower(asked.name) AND NOT u.is_system
    UNION ALL
    SELECT NULL, u.id, u.full_name, u.is_active
    FROM user_account u
    WHERE u.realm_id = ${organization.id} AND u.id = ANY(${[...userIds]}::int[]) AND NOT u.is_system`;
  const isExact = ({ asked, fullName }: UserRow) => Number(asked === fullName);
  // If several users match a name, the last row is used. The rows are sorted so that active accounts come last. Among these,
  // accounts whose name also matches in letter case come last, and then older accounts. So a new account cannot take over the
  // mentions of an older account by choosing its name.
  const best = rows.toSorted(
    (a, b) => Number(a.isActive) - Number(b.isActive) || isExact(a) - isExact(b) || b.id - a.id,
  );
  return {
    byName: new Map(best.flatMap((row) => (row.asked === null ? [] : [[row.asked, row]]))),
    byId: new Map(rows.map((row) => [row.id, row])),
  };
}

async function loadGroups(
  db: DirectoryDb,
  { organization }: Author,
  groupNames: readonly string[],
): Promise<Map<string, DirectoryGroup>> {
  const rows = await db.$queryRaw<{ asked: string; id: number; name: string; isActive: boolean }[]>`
    SELECT asked.name AS asked, g.id, g.name, g.deactivated_at IS NULL AS "isActive"
    FROM unnest(${[...new Set(groupNames)]}::text[]) AS asked (name)
    JOIN user_group g ON g.realm_id = ${organization.id} AND lower(g.name) = lower(asked.name)`;
  return new Map(
    rows.map(({ asked, id, name, isActive }) => [asked, { id, displayName: ROLE_GROUPS.get(name) ?? name, isActive }]),
  );
}

type ChannelRow = Guarded & Pick<Channel, 'id' | 'name' | 'historyPublicToSubscribers'> & { isSubscribed: boolean };

async function loadChannels(
  db: DirectoryDb,
  author: Author,
  { channelNames }: References,
  now: Date,
): Promise<Map<string, ReferencedChannel>> {
  const rows = await db.$queryRaw<ChannelRow[]>`
    SELECT c.id, c.name, c.invite_only AS "inviteOnly", c.is_web_public AS "isWebPublic", c.permissions,
           c.creator_id AS "creatorId", c.history_public_to_subscribers AS "historyPublicToSubscribers",
           s.user_id IS NOT NULL AS "isSubscribed"
    FROM channel c
    LEFT JOIN subscription s ON s.realm_id = c.realm_id AND s.channel_id = c.id AND s.user_id = ${author.id} AND s.active
    WHERE c.realm_id = ${author.organization.id} AND c.name = ANY(${[...channelNames]}::text[])`;
  const { isSystem } = author.user;
  const actor = { person: author, groups: await systemGroups(db, author.organization.id), now };
  return new Map(
    rows
      .filter((row) => isSystem || readsChannel(actor, row, row.isSubscribed))
      .map((row) => [row.name, { id: row.id, name: row.name, isProtected: !isSystem && hasProtectedHistory(row) }]),
  );
}

/**
 * Maximum number of messages of a topic, newest first, that are examined to find the last one that the author can read. If the
 * author can read none of them, links to the topic lead to no message. The limit is needed for protected histories: a text can
 * link to hundreds of topics, each with a long history that the author cannot read.
 */
const MAX_LOOKED_AT = 100;

async function loadLatest(
  db: DirectoryDb,
  author: Author,
  { topics }: References,
  channels: ReadonlyMap<string, ReferencedChannel>,
): Promise<Map<string, number>> {
  const known = topics.flatMap(({ channel: name, topic }) => {
    const channel = channels.get(name);
    return channel === undefined ? [] : [{ channel, topic }];
  });
  if (known.length === 0) return new Map();
  const rows = await db.$queryRaw<{ channelId: number; topic: string; id: bigint | null }[]>`
    SELECT t.channel_id AS "channelId", t.topic,
           (SELECT m.id FROM (
              SELECT id, sender_id, sent_channel_id, conversation_id FROM message
              WHERE realm_id = ${author.organization.id} AND channel_id = t.channel_id AND topic_key(topic) = topic_key(t.topic) ORDER BY id DESC LIMIT ${MAX_LOOKED_AT}
            ) AS m WHERE NOT t.is_protected OR ${receivedBy(author.organization.id, author.id)} ORDER BY m.id DESC LIMIT 1) AS id
    FROM unnest(${known.map(({ channel }) => channel.id)}::int[], ${known.map(({ topic }) => topic)}::text[],
                ${known.map(({ channel }) => channel.isProtected)}::boolean[]) AS t (channel_id, topic, is_protected)`;
  return new Map(
    rows.flatMap(({ channelId, topic, id }) => (id === null ? [] : [[topicReference(channelId, topic), Number(id)]])),
  );
}
