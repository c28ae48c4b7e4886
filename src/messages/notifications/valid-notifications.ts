import type { Runtime } from '../../access/context.ts';
import { timeOfDay } from '../../contract/quiet-hours.ts';
import { type Organization, Prisma, type User } from '../../generated/prisma/client.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { listOf } from '../../platform/db/lists.ts';
import { readRows } from '../../platform/db/rows.ts';
import { type PlacedMessage, readableIn } from '../access.ts';
import { readFlagsOfEach } from '../flag-conditions.ts';
import { isQuiet, type Reason, reasonFor, type Transport } from './decision.ts';

/** A user and a message about which the user was, or is to be, notified. */
export interface NotificationKey {
  readonly userId: number;
  readonly messageId: bigint;
  readonly transport: Transport;
}

/** The user and the message of a notification that is still to be delivered. */
export interface ValidNotification {
  readonly user: User;
  readonly message: PlacedMessage;
  /** The current reason, which can differ from that of the decision. */
  readonly reason: Reason;
}

/**
 * Finds the notifications that are not obsolete: the user and the organization are active, the user can read the message and has
 * not read it, and there is still a reason to notify the user by the transport. The message can have been edited or moved, and
 * settings can have been changed since the decision. The presence of the user is not compared again, but quiet hours are.
 *
 * @returns For each notification, in the same order, its user, message and reason. Undefined if it is obsolete.
 */
export async function validNotifications(
  db: Pick<Tx, 'userGroup' | 'user' | '$queryRaw'>,
  app: Pick<Runtime, 'now'>,
  organization: Organization,
  keys: readonly NotificationKey[],
): Promise<(ValidNotification | undefined)[]> {
  if (keys.length === 0 || organization.deactivatedAt !== null) return keys.map(() => undefined);
  const organizationId = organization.id;
  const ids = [...new Set(keys.map(({ userId }) => userId))];
  const users = await db.user.findMany({ where: { organizationId, id: { in: ids }, isActive: true } });
  const byId = new Map(users.map((user) => [user.id, user]));
  const own = keys.map(({ userId, messageId }) => ({ userId, messageId: Number(messageId) }));
  const flags = await readFlagsOfEach(db, organizationId, own);
  const readers = users.map((user) => ({ id: user.id, role: user.role, organization, user }));
  const unread = own.filter((_one, i) => flags[i]?.read === false);
  const readable = await readableIn(
    db,
    app,
    readers,
    unread.map(({ messageId }) => messageId),
  );
  const places = await readPlaces(db, organizationId, own);
  return keys.map(({ userId, messageId, transport }, i) => {
    const [user, flag, place] = [byId.get(userId), flags[i], places.get(i)];
    const message = readable.get(userId)?.get(Number(messageId));
    if (user === undefined || message === undefined || flag?.read !== false || place === undefined) return undefined;
    const { isSubscribed, policy, ...subscription } = place;
    // Users are notified of the channels to which they are subscribed.
    if (message.channelId !== null && !isSubscribed) return undefined;
    if (transport === 'push' && isQuiet(user, (timeZone) => timeOfDay(app.now(), timeZone))) return undefined;
    const situation = {
      ...{ user, policy },
      subscription: isSubscribed ? { ...subscription, isMuted: subscription.isMuted === true } : undefined,
      isMentioned: flag.mentioned === true,
      isWildcardMentioned: flag.channelWildcard === true || flag.topicWildcard === true,
    };
    const reason = reasonFor(situation, transport);
    return reason && { user, message, reason };
  });
}

/** Subscription and topic policy of a user for the current channel and topic of a message. */
interface PlaceRow {
  readonly isSubscribed: boolean;
  readonly isMuted: boolean | null;
  readonly pushNotifications: boolean | null;
  readonly emailNotifications: boolean | null;
  readonly wildcardMentionsNotify: boolean | null;
  readonly policy: number | null;
}

/** Reads the subscription and the topic policy for each pair of user and message. Returns them by index, from 0. */
async function readPlaces(
  db: SqlClient,
  organizationId: number,
  own: readonly { readonly userId: number; readonly messageId: number }[],
): Promise<Map<number, PlaceRow>> {
  const userIds = own.map(({ userId }) => userId);
  const messageIds = own.map(({ messageId }) => messageId);
  const rows = await readRows<PlaceRow & { readonly place: number }>(
    db,
    Prisma.sql`
    SELECT asked.place::int AS place, s.user_id IS NOT NULL AS "isSubscribed", s.is_muted AS "isMuted",
      s.push_notifications AS "pushNotifications", s.email_notifications AS "emailNotifications",
      s.wildcard_mentions_notify AS "wildcardMentionsNotify", t.policy
    FROM unnest(${listOf('int', userIds)}, ${listOf('bigint', messageIds)})
      WITH ORDINALITY AS asked (user_id, message_id, place)
    JOIN message m ON m.realm_id = ${organizationId} AND m.id = asked.message_id
    LEFT JOIN subscription s ON s.realm_id = ${organizationId} AND s.user_id = asked.user_id AND s.channel_id = m.channel_id AND s.active
    LEFT JOIN user_topic t ON t.realm_id = ${organizationId} AND t.user_id = asked.user_id AND t.channel_id = m.channel_id
      AND topic_key(t.topic) = topic_key(m.topic)`,
  );
  return new Map(rows.map(({ place, ...row }) => [place - 1, row]));
}
