import { hasProtectedHistory } from '../../channels/access.ts';
import { userIdsReading } from '../../channels/audience.ts';
import type { AccessContext, AccessScope } from '../../channels/hooks.ts';
import { users } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { receivedBy } from '../access.ts';
import { flagRemoved } from './events.ts';

/**
 * Channels, users and messages for which a change may have revoked access. If a field is absent, the change affects all
 * channels, users or messages.
 */
export interface StarScope extends AccessScope {
  readonly messageIds?: readonly number[];
}

interface Star {
  readonly user_id: number;
  readonly message_id: bigint;
  readonly channel_id: number;
  readonly received: boolean;
}

/**
 * Clears the flag `starred` of messages that the user with the flag can no longer read, and notifies these users' clients. Runs
 * in the transaction that revokes access, after that transaction has written its rows. The cost grows with the number of
 * starred messages in `scope`.
 */
export async function removeUnreadableStars(
  tx: Tx,
  emit: Emit,
  { organization, now }: AccessContext,
  scope: StarScope,
): Promise<void> {
  const stars = await starsIn(tx, organization.id, scope);
  const removed = new Map<number, number[]>();
  for (const [channelId, placed] of Map.groupBy(stars, ({ channel_id }) => channel_id)) {
    const channel = await tx.channel.findUniqueOrThrow({
      where: { organizationId_id: { organizationId: organization.id, id: channelId } },
    });
    const userIds = [...new Set(placed.map(({ user_id }) => user_id))];
    const readers = new Set(await userIdsReading(tx, organization, channel, userIds, now));
    const isGuarded = hasProtectedHistory(channel);
    for (const { user_id, message_id, received } of placed) {
      if (readers.has(user_id) && (received || !isGuarded)) continue;
      const own = removed.get(user_id);
      if (own === undefined) removed.set(user_id, [Number(message_id)]);
      else own.push(Number(message_id));
    }
  }
  if (removed.size === 0) return;
  await clearStars(tx, organization.id, removed);
  for (const [userId, ids] of removed) {
    for (const event of flagRemoved('starred', { ids }, organization)) emit(event, users([userId]));
  }
}

/**
 * Reads which users have starred which channel messages in the scope, ordered by user. Omits direct messages, because these
 * always remain readable for their recipients.
 */
function starsIn(tx: Tx, organizationId: number, { channelIds, userIds, messageIds }: StarScope): Promise<Star[]> {
  const conditions = [
    Prisma.sql`um.starred AND m.channel_id IS NOT NULL`,
    ...(channelIds === undefined ? [] : [Prisma.sql`m.channel_id = ANY(${[...channelIds]}::int[])`]),
    ...(userIds === undefined ? [] : [Prisma.sql`um.user_id = ANY(${[...userIds]}::int[])`]),
    ...(messageIds === undefined ? [] : [Prisma.sql`um.message_id = ANY(${[...messageIds]}::bigint[])`]),
  ];
  return tx.$queryRaw<Star[]>`
    SELECT um.user_id, um.message_id, m.channel_id, ${receivedBy(organizationId, Prisma.sql`um.user_id`)} AS received
    FROM user_message um JOIN message m ON m.realm_id = um.realm_id AND m.id = um.message_id
    WHERE um.realm_id = ${organizationId} AND ${Prisma.join(conditions, ' AND ')} ORDER BY um.user_id, um.message_id`;
}

/**
 * Clears the flag `starred` of messages. Deletes the rows of `user_message` that then have no flag. `removed` contains the ids
 * of the messages by user id.
 */
async function clearStars(
  tx: Tx,
  organizationId: number,
  removed: ReadonlyMap<number, readonly number[]>,
): Promise<void> {
  const pairs = [...removed].flatMap(([userId, ids]) => ids.map((id) => ({ userId, id })));
  const given = Prisma.sql`unnest(${pairs.map(({ userId }) => userId)}::int[], ${pairs.map(({ id }) => id)}::bigint[])
    AS gone(user_id, message_id)`;
  const isGiven = Prisma.sql`um.user_id = gone.user_id AND um.message_id = gone.message_id`;
  await tx.$executeRaw`
    UPDATE user_message um SET starred = false FROM ${given}
    WHERE um.realm_id = ${organizationId} AND ${isGiven}`;
  await tx.$executeRaw`
    DELETE FROM user_message um USING ${given}
    WHERE um.realm_id = ${organizationId} AND ${isGiven} AND NOT (um.starred OR um.collapsed OR um.mentioned
      OR um.topic_wildcard_mentioned OR um.has_alert_word OR um.historical)`;
}
