import DataLoader from 'dataloader';
import { signedIn } from '../access/context.ts';
import { acrossReaders, perOperation, type Wanted } from '../api/graphql/context.ts';
import { readableChannels } from '../channels/loaders.ts';
import { type PlacedMessage, readableByEach } from './access.ts';
import { type MessagePage, messagesInChannels } from './channel-messages.ts';
import { readFlagsOfEach } from './user-flags.ts';
import type { UserFlags } from './wire.ts';

const NONE: UserFlags = {};

/** What the viewer has with a message, by its id; none with one that is gone meanwhile. */
export const ownFlags = acrossReaders<number, UserFlags>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const { app, realmId } = first.ctx;
  const flags = await readFlagsOfEach(app.db, realmId, viewerIdsIn(wanted), keysIn(wanted));
  return wanted.map(({ ctx, key }) => flags.get(ctx.viewer.id)?.get(key) ?? NONE);
});

/** Messages, each for one viewer, who may read it; null where they may not. */
export async function readableFor(wanted: readonly Wanted<number>[]): Promise<readonly (PlacedMessage | null)[]> {
  const [first] = wanted;
  if (first === undefined) return [];
  const readers = new Map(wanted.map(({ ctx: { viewer } }) => [viewer.id, viewer]));
  const readable = await readableByEach(first.ctx.app, [...readers.values()], keysIn(wanted));
  return wanted.map(({ ctx, key }) => readable.get(ctx.viewer.id)?.get(key) ?? null);
}

/** A page of one channel's messages. */
export interface ChannelPageKey extends MessagePage {
  readonly channelId: number;
}

const pageOf = ({ channelId: _, ...page }: ChannelPageKey) => JSON.stringify(page);

/**
 * Pages of channels' messages, by their ids, the newest first: none of a channel that is not the viewer's to read. As many
 * queries for many channels as for one, where the pages lie at the same place.
 */
export const channelMessages = perOperation(
  (ctx) =>
    new DataLoader<ChannelPageKey, readonly number[], string>(
      async (keys) => {
        const { app, viewer } = signedIn(ctx);
        const rows = await Promise.all(keys.map(({ channelId }) => readableChannels(ctx).load(channelId)));
        const channels = new Map(rows.flatMap((channel) => (channel === null ? [] : [[channel.id, channel] as const])));
        const found = new Map<ChannelPageKey, readonly number[]>();
        for (const [page, ...others] of Map.groupBy(keys, pageOf).values()) {
          if (page === undefined) continue;
          const alike = [page, ...others];
          const wanted = alike.flatMap(({ channelId }) => channels.get(channelId) ?? []);
          const idsOf = await messagesInChannels(app.db, viewer.id, wanted, page);
          for (const key of alike) found.set(key, idsOf(key.channelId));
        }
        return keys.map((key) => found.get(key) ?? []);
      },
      { cacheKeyFn: (key) => `${key.channelId} ${pageOf(key)}` },
    ),
);

const viewerIdsIn = (wanted: readonly Wanted<number>[]) => [...new Set(wanted.map(({ ctx }) => ctx.viewer.id))];
const keysIn = (wanted: readonly Wanted<number>[]) => [...new Set(wanted.map(({ key }) => key))];
