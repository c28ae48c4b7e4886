import DataLoader from 'dataloader';
import { signedIn } from '../access/context.ts';
import { acrossRequests, forEverybody, type GraphQLContext, perOperation } from '../api/graphql/loading/context.ts';
import { present, type RequestedKey } from '../api/graphql/loading/keyed-loader.ts';
import { readableChannels } from '../channels/loaders.ts';
import { type Message, Prisma } from '../generated/prisma/client.ts';
import { fieldsOf } from '../platform/db/columns.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';
import { type PlacedMessage, readableByEach } from './access.ts';
import { type MessagePage, messagesInChannels } from './channel-messages.ts';
import { readFlagsOfEach } from './flag-conditions.ts';
import type { UserFlags } from './wire.ts';

const NONE: UserFlags = {};

/** Loads the viewer's flags of messages, by message id. Without flags if the message was deleted meanwhile. */
export const ownFlags = acrossRequests<number, UserFlags>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const { app, realmId } = first.ctx;
  const own = wanted.map(({ ctx, key }) => ({ userId: ctx.viewer.id, messageId: key }));
  const flags = await readFlagsOfEach(app.db, realmId, own);
  return flags.map((each) => each ?? NONE);
});

const MESSAGE = fieldsOf('m', 'Message');

/** Loads messages by id without checking access, so callers must check it first. Null if a message was deleted meanwhile. */
export const foundMessages = forEverybody<number, Message | null>(async (db, realmId, ids) => {
  const rows = await readRows<Message>(
    db,
    Prisma.sql`SELECT ${MESSAGE} FROM message m WHERE m.realm_id = ${realmId} AND m.id = ANY(${listOf('bigint', ids)})`,
  );
  const byId = new Map(rows.map((message) => [Number(message.id), message]));
  return (id) => byId.get(id) ?? null;
});

/** Loads those of the messages that still exist, in the order of `ids`. The caller has checked access. */
export async function messagesFound(ctx: GraphQLContext, ids: readonly number[]): Promise<Message[]> {
  return present(await foundMessages(ctx).loadAll(ids));
}

/** Loads each message for the viewer of its request, in the order of `wanted`. Null if the viewer cannot read the message. */
export async function readableFor(wanted: readonly RequestedKey<number>[]): Promise<readonly (PlacedMessage | null)[]> {
  const [first] = wanted;
  if (first === undefined) return [];
  const readers = new Map(wanted.map(({ ctx: { viewer } }) => [viewer.id, viewer]));
  const readable = await readableByEach(first.ctx.app, [...readers.values()], keysIn(wanted));
  return wanted.map(({ ctx, key }) => readable.get(ctx.viewer.id)?.get(key) ?? null);
}

/** Channel, bounds and direction of a page of messages. */
export interface ChannelPageKey extends MessagePage {
  readonly channelId: number;
}

const pageOf = ({ channelId: _, ...page }: ChannelPageKey) => JSON.stringify(page);

/**
 * Loads pages of channel messages, as ids, newest first. A page is empty if the viewer cannot read the channel. Pages of
 * several channels are loaded in one batch if their bounds are equal.
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
            // Stores the messages in the cache of `foundMessages`, so that loading them by id needs no query.
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

const keysIn = (wanted: readonly RequestedKey<number>[]) => [...new Set(wanted.map(({ key }) => key))];
