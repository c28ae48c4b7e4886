import type { Ctx } from '../access/context.ts';
import { type ChannelActor, channelActor } from '../access/permissions/require.ts';
import { asOfNow } from '../access/sign-in.ts';
import type { Channel } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { ForbiddenError } from '../platform/errors.ts';
import { isRowId } from '../platform/ids.ts';
import { isAdministrator } from '../platform/roles.ts';
import { holds, invalidChannelId, readsChannel, seesChannel } from './access.ts';
import { holdRoles, lockChannels } from './locks.ts';

/** A channel that is locked for a change, with the viewer's access to it. */
export interface SeenChannel {
  /** The context of the request, with the viewer as read in the transaction. */
  readonly ctx: Ctx;
  readonly channel: Channel;
  readonly actor: ChannelActor;
  readonly isSubscribed: boolean;
}

/**
 * Locks a channel that the viewer can see.
 *
 * @throws NotFoundError if the channel does not exist or the viewer cannot see it.
 */
export async function lockSeenChannel(tx: Tx, stale: Ctx, channelId: number): Promise<SeenChannel> {
  if (!isRowId(channelId)) throw invalidChannelId(channelId);
  await holdRoles(tx, stale.organizationId);
  const ctx = await asOfNow(tx, stale);
  const { app, organizationId, viewer } = ctx;
  const [channel] = await lockChannels(tx, organizationId, [channelId]);
  const actor = await channelActor(tx, viewer, app.now());
  const subscriptions = await tx.subscription.count({
    where: { organizationId: viewer.organization.id, userId: viewer.id, channelId, active: true },
  });
  const isSubscribed = subscriptions > 0;
  if (channel === undefined || !seesChannel(actor, channel, isSubscribed)) throw invalidChannelId(channelId);
  return { ctx, channel, actor, isSubscribed };
}

/** Returns whether a user can administer a channel. Callers must have checked that the user can see the channel. */
export function administersChannel(actor: ChannelActor, channel: Channel): boolean {
  return isAdministrator(actor.person.role) || holds(actor, channel, 'can_administer_channel_group');
}

/**
 * Locks a channel that the viewer can change.
 *
 * @throws NotFoundError if the channel does not exist or the viewer cannot see it.
 * @throws ForbiddenError if the viewer cannot change it.
 */
export async function lockAdministeredChannel(tx: Tx, ctx: Ctx, channelId: number): Promise<SeenChannel> {
  const seen = await lockSeenChannel(tx, ctx, channelId);
  if (!administersChannel(seen.actor, seen.channel)) {
    throw new ForbiddenError('You do not have permission to administer this channel.', {
      permission: 'can_administer_channel_group',
      parameter: 'stream_id',
    });
  }
  return seen;
}

/** Checks that the viewer can read the channel's messages. @throws ForbiddenError if the viewer cannot. */
export function requireContentAccess({ actor, channel, isSubscribed }: SeenChannel): void {
  if (readsChannel(actor, channel, isSubscribed)) return;
  throw new ForbiddenError('Channel content access is required.', { parameter: 'stream_id' });
}
