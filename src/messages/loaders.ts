import DataLoader from 'dataloader';
import { signedIn } from '../access/context.ts';
import { acrossRequests, forAllViewers, type GraphQLContext, perOperation } from '../api/graphql/loading/context.ts';
import { present, type RequestedKey } from '../api/graphql/loading/keyed-loader.ts';
import { sharedLoads } from '../api/graphql/loading/shared-loads.ts';
import { readableChannels } from '../channels/loaders.ts';
import { type Message, Prisma } from '../generated/prisma/client.ts';
import { fieldsOf } from '../platform/db/columns.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';
import { type PlacedMessage, readableByEach } from './access.ts';
import { countInChannels, type MessagePage, messagesInChannels } from './channel-messages.ts';
import { readFlagsOfEach } from './flag-conditions.ts';
import type { UserFlags } from './wire.ts';

const NONE: UserFlags = {};

/** Loads the viewer's flags of messages, by message id. The flags of a message that no longer exists are empty. */
export const ownFlags = acrossRequests<number, UserFlags>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const { work, organizationId } = first.ctx;
  const own = wanted.map(({ ctx, key }) => ({ userId: ctx.viewer.id, messageId: key }));
  const flags = await readFlagsOfEach(work.db, organizationId, own);
  return flags.map((each) => each ?? NONE);
});

const MESSAGE = fieldsOf('m', 'Message');

/** Loads messages by id without checking access, so callers must check it first. Null for a message that no longer exists. */
export const foundMessages = forAllViewers<number, Message | null>(async (db, organizationId, ids) => {
  const rows = await readRows<Message>(
    db,
    Prisma.sql`SELECT ${MESSAGE} FROM message m WHERE m.realm_id = ${organizationId} AND m.id = ANY(${listOf('bigint', ids)})`,
  );
  const byId = new Map(rows.map((message) => [Number(message.id), message]));
  return (id) => byId.get(id) ?? null;
});

/**
 * Loads the messages with the given ids, in the order of `ids`. Omits those that no longer exist. The caller has checked
 * access.
 */
export async function messagesFound(ctx: GraphQLContext, ids: readonly number[]): Promise<Message[]> {
  return present(await foundMessages(ctx).loadAll(ids));
}

/** Loads each message for the viewer of its request, in the order of `wanted`. Null if the viewer cannot read the message. */
export async function readableFor(wanted: readonly RequestedKey<number>[]): Promise<readonly (PlacedMessage | null)[]> {
  const [first] = wanted;
  if (first === undefined) return [];
  const readers = new Map(wanted.map(({ ctx: { viewer } }) => [viewer.id, viewer]));
  const readable = await readableByEach(first.ctx, [...readers.values()], keysIn(wanted));
  return wanted.map(({ ctx, key }) => readable.get(ctx.viewer.id)?.get(key) ?? null);
}

/** Loads pages of the message ids of channels, newest first. A page is empty if the viewer cannot read the channel. */
export const channelMessages = sharedLoads<number, MessagePage, readonly number[]>(
  async (ctx, channelIds, page, operation) => {
    const channels = present(await readableChannels(operation).loadAll(channelIds));
    const holder = { userId: ctx.viewer.id, organizationId: ctx.organizationId };
    const messagesOf = await messagesInChannels(ctx.work.db, holder, channels, page);
    return channelIds.map((channelId) => {
      const messages = messagesOf(channelId);
      // Stores the messages in the cache of `foundMessages`, so that loading them by id needs no query.
      for (const message of messages) foundMessages(operation).prime(Number(message.id), message);
      return messages.map(({ id }) => Number(id));
    });
  },
);

const keysIn = (wanted: readonly RequestedKey<number>[]) => [...new Set(wanted.map(({ key }) => key))];

/** Maximum number of messages of a list that are counted. A longer list is reported to have this many. */
export const MAX_COUNT = 1_000;

/**
 * Loads the number of messages of a channel that the viewer can read. If there are more than `MAX_COUNT`, the result is
 * `MAX_COUNT`.
 */
export const channelMessageCounts = perOperation(
  (ctx) =>
    new DataLoader<number, number>(async (ids) => {
      const { work, viewer } = signedIn(ctx);
      const channels = present(await readableChannels(ctx).loadAll(ids));
      const holder = { userId: viewer.id, organizationId: viewer.organization.id };
      return ids.map(await countInChannels(work.db, holder, channels, MAX_COUNT));
    }),
);
