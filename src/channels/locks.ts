import type { Channel } from '../generated/prisma/client.ts';
import { lockKind } from '../platform/db/advisory-lock.ts';
import type { Tx } from '../platform/db/client.ts';

// Order in which transactions lock rows, to prevent deadlocks: organization, channels by id, folder, subscriptions by (channel,
// user), the list of default channels, and last the event counter.

/**
 * Locks the roles of all users until the transaction ends. Every change of a channel or subscription takes this lock,
 * because visibility depends on roles. The lock is shared: its holders do not block each other.
 */
export async function holdRoles(tx: Tx, realmId: number): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS held FROM realm WHERE id = ${realmId} FOR SHARE`;
}

/**
 * Locks all channels and subscriptions until the transaction ends, for changes of roles. Waits for all holders of `holdRoles`,
 * and makes new ones wait.
 */
export async function holdChannels(tx: Tx, realmId: number): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS held FROM realm WHERE id = ${realmId} FOR NO KEY UPDATE`;
}

/**
 * Locks channels and their lists of subscribers until the transaction ends: events must contain changes of a list in exact
 * order.
 *
 * @returns The channels as they are now, ascending by id.
 */
export async function lockChannels(tx: Tx, realmId: number, channelIds: readonly number[]): Promise<Channel[]> {
  if (channelIds.length === 0) return [];
  const ids = [...new Set(channelIds)];
  await tx.$queryRaw`
    SELECT 1 AS held FROM channel WHERE realm_id = ${realmId} AND id = ANY(${ids}) ORDER BY id FOR NO KEY UPDATE`;
  return tx.channel.findMany({ where: { realmId, id: { in: ids } }, orderBy: { id: 'asc' } });
}

/** Locks channels and their lists of subscribers in shared mode, for a change of a subscription's own settings. */
export async function shareChannels(tx: Tx, realmId: number, channelIds: readonly number[]): Promise<void> {
  await tx.$queryRaw`
    SELECT 1 AS held FROM channel WHERE realm_id = ${realmId} AND id = ANY(${[...channelIds]}) ORDER BY id FOR SHARE`;
}

/**
 * Takes the locks of `holdRoles`, then those of `shareChannels`. Takes all of them in one statement, to save a round trip:
 * every change of a message calls this function. The organization's row is locked before any channel is read.
 */
export async function holdRolesAndShareChannels(tx: Tx, realmId: number, channelIds: readonly number[]): Promise<void> {
  await tx.$queryRaw`
    WITH roles AS (SELECT 1 AS held FROM realm WHERE id = ${realmId} FOR SHARE)
    SELECT 1 AS held FROM channel
    WHERE (SELECT count(*) FROM roles) = 1 AND realm_id = ${realmId} AND id = ANY(${[...channelIds]})
    ORDER BY id FOR SHARE`;
}

/**
 * Serializes transactions that create channels, so that channels can be counted. In the lock order, it comes after
 * channels and before the list of default channels.
 */
export async function lockNewChannels(tx: Tx, realmId: number): Promise<void> {
  await lockKind(tx, 'new_channels', realmId);
}

/** Serializes changes of the list of default channels until the transaction ends: each event contains the whole list. */
export async function lockDefaultChannels(tx: Tx, realmId: number): Promise<void> {
  await lockKind(tx, 'default_channels', realmId);
}
