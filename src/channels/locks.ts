import type { Channel } from '../generated/prisma/client.ts';
import { lockKind } from '../platform/db/advisory-lock.ts';
import type { Tx } from '../platform/db/client.ts';

// Order in which transactions lock rows, to prevent deadlocks: organization, channels by id, folder, subscriptions by (channel,
// user), the list of default channels, and last the event counter.

/**
 * Locks the roles of all users until the transaction ends. Every change of a channel or subscription takes this lock,
 * because visibility depends on roles. The lock is shared: its holders do not block each other.
 */
export async function holdRoles(tx: Tx, organizationId: number): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS held FROM realm WHERE id = ${organizationId} FOR SHARE`;
}

/**
 * Locks all channels and subscriptions until the transaction ends, for changes of roles. Waits for all transactions that hold
 * the lock of `holdRoles`, and blocks new ones.
 */
export async function holdChannels(tx: Tx, organizationId: number): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS held FROM realm WHERE id = ${organizationId} FOR NO KEY UPDATE`;
}

/**
 * Locks channels and their lists of subscribers until the transaction ends. So events contain the changes of a list in the
 * order in which they are made.
 *
 * @returns The channels as they are now, ascending by id.
 */
export async function lockChannels(tx: Tx, organizationId: number, channelIds: readonly number[]): Promise<Channel[]> {
  if (channelIds.length === 0) return [];
  const ids = [...new Set(channelIds)];
  await tx.$queryRaw`
    SELECT 1 AS held FROM channel WHERE realm_id = ${organizationId} AND id = ANY(${ids}) ORDER BY id FOR NO KEY UPDATE`;
  return tx.channel.findMany({ where: { organizationId, id: { in: ids } }, orderBy: { id: 'asc' } });
}

/**
 * Locks channels and their lists of subscribers in shared mode, so that subscribers can change settings of their subscriptions.
 */
export async function shareChannels(tx: Tx, organizationId: number, channelIds: readonly number[]): Promise<void> {
  await tx.$queryRaw`
    SELECT 1 AS held FROM channel WHERE realm_id = ${organizationId} AND id = ANY(${[...channelIds]}) ORDER BY id FOR SHARE`;
}

/**
 * Takes the locks of `holdRoles`, then those of `shareChannels`. Takes all of them in one statement, to save a round trip:
 * every change of a message calls this function. The organization's row is locked before any channel is read.
 */
export async function holdRolesAndShareChannels(
  tx: Tx,
  organizationId: number,
  channelIds: readonly number[],
): Promise<void> {
  await tx.$queryRaw`
    WITH roles AS (SELECT 1 AS held FROM realm WHERE id = ${organizationId} FOR SHARE)
    SELECT 1 AS held FROM channel
    WHERE (SELECT count(*) FROM roles) = 1 AND realm_id = ${organizationId} AND id = ANY(${[...channelIds]})
    ORDER BY id FOR SHARE`;
}

/**
 * Serializes transactions that create channels, so that channels can be counted. In the lock order, this lock comes after the
 * locks of channels and before the lock of the list of default channels.
 */
export async function lockNewChannels(tx: Tx, organizationId: number): Promise<void> {
  await lockKind(tx, 'new_channels', organizationId);
}

/** Serializes changes of the list of default channels until the transaction ends: each event contains the whole list. */
export async function lockDefaultChannels(tx: Tx, organizationId: number): Promise<void> {
  await lockKind(tx, 'default_channels', organizationId);
}
