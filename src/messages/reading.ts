import type { Ctx } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import { readBy } from '../channels/access.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { isGuest } from '../platform/roles.ts';
import { hasProtectedHistory, receivedBy } from './access.ts';

/** Where a message is, as SQL: the columns of a query, or what is known of them beforehand. */
export interface MessagePlace {
  readonly channelId: Prisma.Sql;
  readonly conversationId: Prisma.Sql;
}

/** Where the message `m` is. */
export const PLACE_OF_M: MessagePlace = {
  channelId: Prisma.sql`m.channel_id`,
  conversationId: Prisma.sql`m.conversation_id`,
};

/** What a user may read, as SQL. */
export interface ReadingRights {
  readonly realmId: number;
  readonly userId: number;
  /** Whether the user may read what is written in the channel `c`, at least what they received. */
  readonly readsChannel: Prisma.Sql;
  /** Whether the user may read the message `m`. */
  readonly mayRead: Prisma.Sql;
  /** Whether the user has the message `m` on record: they received it, or took it up from a channel's history. */
  readonly holds: Prisma.Sql;
}

/** What the viewer may read, in one query: private channels by name, for they are few; all others by a rule. */
export async function readingRights({ app, viewer }: Ctx): Promise<ReadingRights> {
  const { id: userId, realm, role } = viewer;
  const byName = isGuest(role) ? { isWebPublic: false } : { inviteOnly: true };
  const channels = await app.db.channel.findMany({
    where: { AND: [readBy(await channelActor(app.db, viewer, app.now())), byName] },
    select: { id: true, inviteOnly: true, historyPublicToSubscribers: true },
  });
  const { shared = [], guarded = [] } = Object.groupBy(channels, (channel) =>
    hasProtectedHistory(channel) ? 'guarded' : 'shared',
  );
  const among = (some: typeof channels) => Prisma.sql`c.id = ANY(${some.map(({ id }) => id)}::int[])`;
  const isOpen = isGuest(role) ? Prisma.sql`c.is_web_public` : Prisma.sql`(NOT c.invite_only OR c.is_web_public)`;
  const received = receivedBy(userId);
  return {
    realmId: realm.id,
    userId,
    readsChannel: Prisma.sql`(${isOpen} OR ${among(channels)})`,
    mayRead: Prisma.sql`CASE
      WHEN m.conversation_id IS NOT NULL THEN EXISTS (
        SELECT FROM conversation_member cm WHERE cm.user_id = ${userId} AND cm.conversation_id = m.conversation_id)
      ELSE EXISTS (
        SELECT FROM channel c WHERE c.id = m.channel_id AND c.realm_id = ${realm.id}
          AND (${isOpen} OR ${among(shared)} OR (${among(guarded)} AND ${received})))
      END`,
    holds: Prisma.sql`(${received} OR m.id IN (${takenUpBy(userId)}))`,
  };
}

/** The ids of messages that the user took up: starred, though never received, or marked unread one by one. */
export const takenUpBy = (userId: number): Prisma.Sql => Prisma.sql`
  SELECT um.message_id FROM user_message um WHERE um.user_id = ${userId} AND um.starred AND um.historical
  UNION ALL SELECT x.message_id FROM read_exception x WHERE x.user_id = ${userId} AND NOT x.is_read`;

/** `a AND b AND …`; true of nothing at all. */
export const allOf = (conditions: readonly Prisma.Sql[]): Prisma.Sql =>
  conditions.length === 0 ? Prisma.sql`true` : Prisma.sql`(${Prisma.join([...conditions], ' AND ')})`;
