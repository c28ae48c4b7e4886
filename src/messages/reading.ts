import type { Ctx } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import { type Guarded, hasProtectedHistory, readsChannel } from '../channels/access.ts';
import { type Channel, Prisma } from '../generated/prisma/client.ts';
import { readRows } from '../platform/db/rows.ts';
import { isGuest } from '../platform/roles.ts';
import { receivedBy } from './access.ts';

/** SQL expressions for the channel id and the conversation id of a message. They can be columns of a query, or constants. */
export interface MessagePlace {
  readonly channelId: Prisma.Sql;
  readonly conversationId: Prisma.Sql;
}

/** Columns with the channel and the conversation of the message `m`. */
export const PLACE_OF_M: MessagePlace = {
  channelId: Prisma.sql`m.channel_id`,
  conversationId: Prisma.sql`m.conversation_id`,
};

/** Read permissions of a user, as SQL conditions. */
export interface ReadingRights {
  readonly organizationId: number;
  readonly userId: number;
  /** Whether the user can read messages in the channel `c`: all of them, or at least those that the user received. */
  readonly readsChannel: Prisma.Sql;
  /** Whether the user can read the message `m`. */
  readonly mayRead: Prisma.Sql;
  /** Whether the user received the message `m`, starred it, or marked it as unread. See `takenUpBy`. */
  readonly holds: Prisma.Sql;
}

type NamedChannel = Guarded & Pick<Channel, 'id' | 'historyPublicToSubscribers'> & { readonly isSubscribed: boolean };

/**
 * Reads the channels that the viewer can read, except those that all users of the viewer's role can read. One query reads the
 * candidates. For a guest, these are the subscribed channels that are not web-public. For other users, they are the private
 * channels to which the user is subscribed, that the user created, or that have explicit permissions.
 */
async function readByName({ app, work, viewer }: Ctx): Promise<NamedChannel[]> {
  const actor = await channelActor(work.db, viewer, app.now());
  const candidates = isGuest(viewer.role)
    ? Prisma.sql`NOT c.is_web_public AND s.active`
    : Prisma.sql`c.invite_only AND (s.active OR c.creator_id = ${viewer.id} OR c.permissions <> '{}')`;
  const found = await readRows<NamedChannel>(
    work.db,
    Prisma.sql`
      SELECT c.id, c.invite_only AS "inviteOnly", c.is_web_public AS "isWebPublic", c.permissions,
             c.history_public_to_subscribers AS "historyPublicToSubscribers", c.creator_id AS "creatorId",
             COALESCE(s.active, false) AS "isSubscribed"
      FROM channel c LEFT JOIN subscription s ON s.realm_id = c.realm_id AND s.channel_id = c.id AND s.user_id = ${viewer.id}
      WHERE c.realm_id = ${viewer.organization.id} AND ${candidates}`,
  );
  return found.filter((channel) => readsChannel(actor, channel, channel.isSubscribed));
}

/** Returns a list with the channel if the viewer can read it, else an empty list. */
async function readOf({ app, work, viewer }: Ctx, channel: NamedChannel): Promise<NamedChannel[]> {
  const actor = await channelActor(work.db, viewer, app.now());
  return readsChannel(actor, channel, channel.isSubscribed) ? [channel] : [];
}

/**
 * Returns the read permissions of the viewer as SQL conditions. Uses at most one query for channels. The conditions contain the
 * ids of channels that only some users can read, because such channels are few.
 *
 * @param within The only channel whose messages will be fetched. If given, the permissions for other channels are not read.
 */
export async function readingRights(ctx: Ctx, within?: NamedChannel): Promise<ReadingRights> {
  const { id: userId, organization, role } = ctx.viewer;
  const channels = await (within === undefined ? readByName(ctx) : readOf(ctx, within));
  const { shared = [], guarded = [] } = Object.groupBy(channels, (channel) =>
    hasProtectedHistory(channel) ? 'guarded' : 'shared',
  );
  const among = (some: typeof channels) => Prisma.sql`c.id = ANY(${some.map(({ id }) => id)}::int[])`;
  const isOpen = isGuest(role) ? Prisma.sql`c.is_web_public` : Prisma.sql`(NOT c.invite_only OR c.is_web_public)`;
  const received = receivedBy(organization.id, userId);
  return {
    organizationId: organization.id,
    userId,
    readsChannel: Prisma.sql`(${isOpen} OR ${among(channels)})`,
    mayRead: Prisma.sql`CASE
      WHEN m.conversation_id IS NOT NULL THEN EXISTS (
        SELECT FROM conversation_member cm
        WHERE cm.realm_id = ${organization.id} AND cm.user_id = ${userId} AND cm.conversation_id = m.conversation_id OFFSET 0)
      ELSE EXISTS (
        SELECT FROM channel c WHERE c.id = m.channel_id AND c.realm_id = ${organization.id}
          AND (${isOpen} OR ${among(shared)} OR (${among(guarded)} AND ${received})))
      END`,
    holds: Prisma.sql`(${received} OR m.id IN (${takenUpBy(organization.id, userId)}))`,
  };
}

/**
 * Builds a query of message ids: messages that the user starred without having received them, and messages that the user
 * individually marked as unread.
 */
export const takenUpBy = (organizationId: number, userId: number): Prisma.Sql => Prisma.sql`
  SELECT um.message_id FROM user_message um
  WHERE um.realm_id = ${organizationId} AND um.user_id = ${userId} AND um.starred AND um.historical
  UNION ALL SELECT x.message_id FROM read_exception x
  WHERE x.realm_id = ${organizationId} AND x.user_id = ${userId} AND NOT x.is_read`;

/** Joins SQL conditions with AND. Returns `true` if there are none. */
export const allOf = (conditions: readonly Prisma.Sql[]): Prisma.Sql =>
  conditions.length === 0 ? Prisma.sql`true` : Prisma.sql`(${Prisma.join([...conditions], ' AND ')})`;
