import type { App, Viewer } from '../../access/context.ts';
import { type SystemGroupName, systemGroups } from '../../access/permissions/system-groups.ts';
import { type Guarded, readsChannel } from '../../channels/access.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import type { Channel } from '../../generated/prisma/client.ts';
import type { References } from '../../markdown/references.ts';
import type { Directory, DirectoryGroup, DirectoryUser } from '../../markdown/types.ts';
import { emojiImageUrl } from '../../people/emoji/wire.ts';
import type { Tx } from '../../platform/db/client.ts';
import { urlOf } from '../../platform/hosts.ts';
import { hasProtectedHistory, receivedBy } from '../access.ts';

type DirectoryDb = Pick<Tx, 'userGroup' | '$queryRaw'>;

/** Whose words are rendered; a `Viewer` is one. */
type Author = Pick<Viewer, 'id' | 'role' | 'realm' | 'user'>;

/** What the role groups are called in mentions. */
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

/** A channel that the author may read. */
interface KnownChannel {
  readonly id: number;
  readonly name: string;
  /** Whether only those messages count that the author received. */
  readonly isProtected: boolean;
}

/**
 * Looks up what a text refers to, as its author may know of it: one query for each kind of thing that it names, and
 * none for a text that names nothing.
 *
 * @param db The client, or inside a change its transaction.
 * @param author The service itself knows every channel.
 * @param references Of the text, from `referencesIn`.
 */
export async function loadDirectory(
  db: DirectoryDb,
  app: Pick<App, 'config' | 'now'>,
  author: Author,
  references: References,
): Promise<Directory> {
  // One after the other: a transaction has one connection, and few texts name things of several kinds.
  const users = await loadUsers(db, author, references);
  const groups = await loadGroups(db, author, references);
  const channels = await loadChannels(db, author, references, app.now());
  const latest = await loadLatest(db, author, references, channels);
  const emoji = await loadEmoji(db, author, references);
  return {
    realmUrl: urlOf(app.config, author.realm.subdomain),
    emptyTopicName: emptyTopicName(author.realm),
    userNamed: (name) => users.byName.get(name),
    userWithId: (id) => users.byId.get(id),
    groupNamed: (name) => groups.get(name),
    channelNamed: (name) => channels.get(name),
    latestMessageId: (channelId, topic) => latest.get(topicKey(channelId, topic)),
    customEmoji: (name) => emoji.get(name),
  };
}

/** Those of the organisation that are active. A text that names none asks for none. */
async function loadEmoji(
  db: DirectoryDb,
  { realm }: Author,
  { emojiNames }: References,
): Promise<Map<string, { url: string }>> {
  if (emojiNames.length === 0) return new Map();
  const rows = await db.$queryRaw<{ name: string; imageId: string }[]>`
    SELECT name, image_id AS "imageId" FROM custom_emoji
    WHERE realm_id = ${realm.id} AND name = ANY(${[...emojiNames]}::text[]) AND deactivated_at IS NULL`;
  return new Map(rows.map(({ name, imageId }) => [name, { url: emojiImageUrl(imageId) }]));
}

const topicKey = (channelId: number, topic: string) => `${channelId} ${topic}`;

interface UserRow extends DirectoryUser {
  /** The name that was asked for; null for one whose id was. */
  readonly asked: string | null;
}

async function loadUsers(db: DirectoryDb, { realm }: Author, { userNames, userIds }: References) {
  const rows =
    userNames.length + userIds.length === 0
      ? []
      : await db.$queryRaw<UserRow[]>`
          SELECT asked.name AS asked, u.id, u.full_name AS "fullName", u.is_active AS "isActive"
          FROM unnest(${[...userNames]}::text[]) AS asked (name)
          JOIN user_account u ON u.realm_id = ${realm.id} AND lower(u.full_name) = lower(asked.name) AND NOT u.is_system
          UNION ALL
          SELECT NULL, u.id, u.full_name, u.is_active
          FROM user_account u
          WHERE u.realm_id = ${realm.id} AND u.id = ANY(${[...userIds]}::int[]) AND NOT u.is_system`;
  // Of those with one name, one who is there; the one who came last.
  const best = rows.toSorted((a, b) => Number(a.isActive) - Number(b.isActive) || a.id - b.id);
  return {
    byName: new Map(best.flatMap((row) => (row.asked === null ? [] : [[row.asked, row]]))),
    byId: new Map(rows.map((row) => [row.id, row])),
  };
}

async function loadGroups(
  db: DirectoryDb,
  { realm }: Author,
  { groupNames }: References,
): Promise<Map<string, DirectoryGroup>> {
  if (groupNames.length === 0) return new Map();
  const rows = await db.$queryRaw<{ asked: string; id: number; name: string; isActive: boolean }[]>`
    SELECT asked.name AS asked, g.id, g.name, g.deactivated_at IS NULL AS "isActive"
    FROM unnest(${[...groupNames]}::text[]) AS asked (name)
    JOIN user_group g ON g.realm_id = ${realm.id} AND lower(g.name) = lower(asked.name)`;
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
): Promise<Map<string, KnownChannel>> {
  if (channelNames.length === 0) return new Map();
  const rows = await db.$queryRaw<ChannelRow[]>`
    SELECT c.id, c.name, c.invite_only AS "inviteOnly", c.is_web_public AS "isWebPublic", c.permissions,
           c.creator_id AS "creatorId", c.history_public_to_subscribers AS "historyPublicToSubscribers",
           s.user_id IS NOT NULL AS "isSubscribed"
    FROM channel c
    LEFT JOIN subscription s ON s.realm_id = c.realm_id AND s.channel_id = c.id AND s.user_id = ${author.id} AND s.active
    WHERE c.realm_id = ${author.realm.id} AND c.name = ANY(${[...channelNames]}::text[])`;
  const { isSystem } = author.user;
  const actor = { person: author, groups: await systemGroups(db, author.realm.id), now };
  return new Map(
    rows
      .filter((row) => isSystem || readsChannel(actor, row, row.isSubscribed))
      .map((row) => [row.name, { id: row.id, name: row.name, isProtected: !isSystem && hasProtectedHistory(row) }]),
  );
}

/**
 * Our choice: where history is protected, so many of a topic's last messages are looked at for one that the author received.
 * One message may link to hundreds of topics, each with a long history that is not for its author.
 */
const MAX_LOOKED_AT = 100;

async function loadLatest(
  db: DirectoryDb,
  author: Author,
  { topics }: References,
  channels: ReadonlyMap<string, KnownChannel>,
): Promise<Map<string, number>> {
  const known = topics.flatMap(({ channel: name, topic }) => {
    const channel = channels.get(name);
    return channel === undefined ? [] : [{ channel, topic }];
  });
  if (known.length === 0) return new Map();
  const rows = await db.$queryRaw<{ channelId: number; topic: string; id: bigint | null }[]>`
    SELECT t.channel_id AS "channelId", t.topic,
           (SELECT m.id FROM (
              SELECT realm_id, id, sender_id, sent_channel_id, conversation_id FROM message
              WHERE channel_id = t.channel_id AND lower(topic) = lower(t.topic) ORDER BY id DESC LIMIT ${MAX_LOOKED_AT}
            ) AS m WHERE NOT t.is_protected OR ${receivedBy(author.id)} ORDER BY m.id DESC LIMIT 1) AS id
    FROM unnest(${known.map(({ channel }) => channel.id)}::int[], ${known.map(({ topic }) => topic)}::text[],
                ${known.map(({ channel }) => channel.isProtected)}::boolean[]) AS t (channel_id, topic, is_protected)`;
  return new Map(
    rows.flatMap(({ channelId, topic, id }) => (id === null ? [] : [[topicKey(channelId, topic), Number(id)]])),
  );
}
