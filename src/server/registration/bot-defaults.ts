import type { Ctx } from '../../access/context.ts';
import type { QueueOptions } from '../../events/view.ts';

/**
 * What a queue hears where its client says nothing of it: of a bot what its owner has set, of a person everything that
 * is theirs.
 */
export async function queueDefaults({ app, viewer }: Ctx): Promise<Pick<QueueOptions, 'allPublicChannels' | 'narrow'>> {
  const { defaultEventsChannelId: id, defaultAllPublicChannels: allPublicChannels } = viewer.user;
  const channel =
    id === null
      ? null
      : await app.db.channel.findFirst({ where: { realmId: viewer.realm.id, id }, select: { name: true } });
  return { allPublicChannels, narrow: channel === null ? [] : [['stream', channel.name]] };
}
