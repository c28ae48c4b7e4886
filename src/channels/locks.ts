import type { Channel } from '../generated/prisma/client.ts';
import { lockKind } from '../platform/db/advisory-lock.ts';
import type { Tx } from '../platform/db/client.ts';

// The order in which changes lock rows, so that none wait for each other in a circle: organisation, channels by id,
// folder, subscriptions by (channel, user), the list of default channels, and last the event counter.

/**
 * Keeps everybody's role as it is until the change is over. Every change of a channel or of a subscription holds it,
 * because who sees a channel depends on roles; they do not hinder each other.
 */
export async function holdRoles(tx: Tx, realmId: number): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS held FROM realm WHERE id = ${realmId} FOR SHARE`;
}

/** Keeps every channel and subscription as it is until the change is over: for changes of who has which role. */
export async function holdChannels(tx: Tx, realmId: number): Promise<void> {
  await tx.$queryRaw`SELECT 1 AS held FROM realm WHERE id = ${realmId} FOR NO KEY UPDATE`;
}

/**
 * Locks channels, and with them who is subscribed to them: subscriber lists in events must follow one another exactly.
 *
 * @returns The channels as they are now, by id, ascending.
 */
export async function lockChannels(tx: Tx, realmId: number, channelIds: readonly number[]): Promise<Channel[]> {
  if (channelIds.length === 0) return [];
  const ids = [...new Set(channelIds)];
  await tx.$queryRaw`
    SELECT 1 AS held FROM channel WHERE realm_id = ${realmId} AND id = ANY(${ids}) ORDER BY id FOR NO KEY UPDATE`;
  return tx.channel.findMany({ where: { realmId, id: { in: ids } }, orderBy: { id: 'asc' } });
}

/** Keeps channels as they are, and who is subscribed to them, for a change of a subscription's own settings. */
export async function shareChannels(tx: Tx, realmId: number, channelIds: readonly number[]): Promise<void> {
  await tx.$queryRaw`
    SELECT 1 AS held FROM channel WHERE realm_id = ${realmId} AND id = ANY(${[...channelIds]}) ORDER BY id FOR SHARE`;
}

/**
 * Keeps everybody's role as it is, and then the channels as `shareChannels` does. One statement, because every change of a
 * message takes it: the organisation's row is locked before any channel is looked at.
 */
export async function holdRolesAndShareChannels(tx: Tx, realmId: number, channelIds: readonly number[]): Promise<void> {
  await tx.$queryRaw`
    WITH roles AS (SELECT 1 AS held FROM realm WHERE id = ${realmId} FOR SHARE)
    SELECT 1 AS held FROM channel
    WHERE (SELECT count(*) FROM roles) = 1 AND realm_id = ${realmId} AND id = ANY(${[...channelIds]})
    ORDER BY id FOR SHARE`;
}

/**
 * Makes the changes that make channels follow one another, so that how many there are is known. After channels, and
 * before the list of default channels, in the order of locks.
 */
export async function lockNewChannels(tx: Tx, realmId: number): Promise<void> {
  await lockKind(tx, 'new_channels', realmId);
}

/**
 * Keeps the list of default channels as it is until the change is over, but for this change: every event of it tells the
 * whole list, so two changes of it must follow one another.
 */
export async function lockDefaultChannels(tx: Tx, realmId: number): Promise<void> {
  await lockKind(tx, 'default_channels', realmId);
}
