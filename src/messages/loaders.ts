import DataLoader from 'dataloader';
import { signedIn } from '../access/context.ts';
import { acrossRequests, forEverybody, type GraphQLContext, perOperation } from '../api/graphql/context.ts';
import { present, type Wanted } from '../api/graphql/keyed-loader.ts';
import { readableChannels } from '../channels/loaders.ts';
import { type Message, Prisma } from '../generated/prisma/client.ts';
import { fieldsOf, MESSAGE_COLUMNS } from '../platform/db/columns.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';
import { type PlacedMessage, readableByEach } from './access.ts';
import { type MessagePage, messagesInChannels } from './channel-messages.ts';
import { readFlagsOfEach } from './user-flags.ts';
import type { UserFlags } from './wire.ts';

const NONE: UserFlags = {};

/** What the viewer has with a message, by its id; none with one that is gone meanwhile. */
export const ownFlags = acrossRequests<number, UserFlags>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const { app, realmId } = first.ctx;
  const own = wanted.map(({ ctx, key }) => ({ userId: ctx.viewer.id, messageId: key }));
  const flags = await readFlagsOfEach(app.db, realmId, own);
  return flags.map((each) => each ?? NONE);
});

const MESSAGE = fieldsOf('m', MESSAGE_COLUMNS);

/** Messages by id, which the viewer was found to be able to read; null for one that is gone meanwhile. */
export const foundMessages = forEverybody<number, Message | null>(async (db, realmId, ids) => {
  const rows = await readRows<Message>(
    db,
    Prisma.sql`SELECT ${MESSAGE} FROM message m WHERE m.realm_id = ${realmId} AND m.id = ANY(${listOf('bigint', ids)})`,
  );
  const byId = new Map(rows.map((message) => [Number(message.id), message]));
  return (id) => byId.get(id) ?? null;
});

/** Those of the messages that are still there, in the order of their ids. */
export async function messagesFound(ctx: GraphQLContext, ids: readonly number[]): Promise<Message[]> {
  return present(await foundMessages(ctx).loadAll(ids));
}

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
        const rows = present(await readableChannels(ctx).loadAll(keys.map(({ channelId }) => channelId)));
        const channels = new Map(rows.map((channel) => [channel.id, channel]));
        const found = new Map<ChannelPageKey, readonly number[]>();
        for (const [page, ...others] of Map.groupBy(keys, pageOf).values()) {
          if (page === undefined) continue;
          const alike = [page, ...others];
          const wanted = alike.flatMap(({ channelId }) => channels.get(channelId) ?? []);
          const holder = { userId: viewer.id, realmId: viewer.realm.id };
          const messagesOf = await messagesInChannels(app.db, holder, wanted, page);
          for (const key of alike) {
            const messages = messagesOf(key.channelId);
            // Whoever asks for them by these ids has them.
            for (const message of messages) foundMessages(ctx).prime(Number(message.id), message);
            found.set(
              key,
              messages.map(({ id }) => Number(id)),
            );
          }
        }
        return keys.map((key) => found.get(key) ?? []);
      },
      { cacheKeyFn: (key) => `${key.channelId} ${pageOf(key)}` },
    ),
);

const keysIn = (wanted: readonly Wanted<number>[]) => [...new Set(wanted.map(({ key }) => key))];
