import type { Ctx } from '../../access/context.ts';
import type { QueueOptions } from '../../events/view.ts';

/** Notice for a new bot that is subscribed to no channel. */
const NO_CHANNELS =
  'This bot is subscribed to no channel, so this queue receives direct messages only. Subscribe the bot to ' +
  'channels, or register with all_public_streams.';

/**
 * Returns the default options of a queue that the viewer registers. For a bot, these are the values that its owner set. For a
 * person, the queue has no narrow (message filter) and does not include other public channels.
 */
export async function queueDefaults({
  work,
  viewer,
}: Ctx): Promise<Pick<QueueOptions, 'allPublicChannels' | 'narrow'>> {
  const { defaultEventsChannelId: id, defaultAllPublicChannels: allPublicChannels } = viewer.user;
  const channel =
    id === null
      ? null
      : await work.db.channel.findFirst({
          where: { organizationId: viewer.organization.id, id },
          select: { name: true },
        });
  return { allPublicChannels, narrow: channel === null ? [] : [['stream', channel.name]] };
}

/**
 * Returns a notice for a bot whose queue will receive no channel messages. Undefined for people, for bots that are subscribed
 * to a channel or receive messages of all public channels, and for queues without message events.
 */
export async function noticeFor({ work, viewer }: Ctx, { allPublicChannels, eventTypes }: QueueOptions) {
  if (viewer.user.botType === null || allPublicChannels) return undefined;
  if (eventTypes !== null && !eventTypes.includes('message')) return undefined;
  const where = {
    organizationId: viewer.organization.id,
    userId: viewer.id,
    active: true,
    channel: { isArchived: false },
  };
  return (await work.db.subscription.findFirst({ where, select: { channelId: true } })) === null
    ? NO_CHANNELS
    : undefined;
}
