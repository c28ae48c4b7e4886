import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { acrossReaders, type GraphQLContext, perOperation } from '../../api/graphql/context.ts';
import { topicKey } from '../../channels/topic-name.ts';
import type { UserPage } from '../../people/user-pages.ts';
import type { Place } from '../../platform/db/keyset.ts';
import type { MessagePage } from '../channel-messages.ts';
import { compileNarrow } from '../narrow/narrow.ts';
import { selectPage } from '../narrow/narrow-select.ts';
import { countReceipts, readReceiptPages } from './receipts.ts';
import { readUnreadOfEach, type Unread, type UnreadGroup } from './unread.ts';
import { type CountedUnread, countUnreadOfEach } from './unread-counts.ts';

const NOTHING: Unread = { groups: [], isCut: false };
/** There is one of it for each viewer. */
const ALL = 0;

const unreadOfEach = acrossReaders<typeof ALL, Unread>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const { app, realmId } = first.ctx;
  const viewerIds = [...new Set(wanted.map(({ ctx }) => ctx.viewer.id))];
  const found = await readUnreadOfEach(app.db, realmId, viewerIds);
  return wanted.map(({ ctx }) => found.get(ctx.viewer.id) ?? NOTHING);
});

/** What is unread for the viewer: read once for each operation, or delivery. */
const ownUnread = (ctx: GraphQLContext): Promise<Unread> => unreadOfEach(ctx).load(ALL);

/** What is unread for the viewer in one place; undefined where nothing is. */
interface OwnUnreadIn {
  /** @param name In whatever case. */
  topic(channelId: number, name: string): UnreadGroup | undefined;
  /** @param memberIds Everybody who takes part, ascending. */
  conversation(memberIds: readonly number[]): UnreadGroup | undefined;
}

/** What is unread for the viewer, by where it is: read once for each operation. */
export const ownUnreadIn = perOperation(async (ctx): Promise<OwnUnreadIn> => {
  const { groups } = await ownUnread(ctx);
  const keyOf = (channelId: number | null, name: string) => `${channelId} ${topicKey(name)}`;
  const byTopic = new Map(groups.map((group) => [keyOf(group.channelId, group.topic), group]));
  const byMembers = new Map(groups.map((group) => [group.memberIds?.join(), group]));
  return {
    topic: (channelId, name) => byTopic.get(keyOf(channelId, name)),
    conversation: (memberIds) => byMembers.get(memberIds.join()),
  };
});

const NONE: CountedUnread = { counts: [], isCut: false };

const countsOfEach = acrossReaders<typeof ALL, CountedUnread>(async (wanted) => {
  const [first] = wanted;
  if (first === undefined) return [];
  const { app, realmId } = first.ctx;
  const viewerIds = [...new Set(wanted.map(({ ctx }) => ctx.viewer.id))];
  const found = await countUnreadOfEach(app.db, realmId, viewerIds);
  return wanted.map(({ ctx }) => found.get(ctx.viewer.id) ?? NONE);
});

/** How much is unread for the viewer: counted once for each operation, or delivery. */
export const ownCounts = (ctx: GraphQLContext): Promise<CountedUnread> => countsOfEach(ctx).load(ALL);

/** How much is unread for the viewer in each channel where there is something. */
export const ownCountsIn = perOperation(async (ctx) => {
  const { counts } = await ownCounts(ctx);
  return Map.groupBy(counts, ({ channelId }) => channelId);
});

const STARRED = [{ operator: 'is', operand: 'starred', negated: false }];

/** Pages of the messages that the viewer has starred and may read, by their ids: each read once for an operation. */
export const ownStarred = perOperation(
  (ctx) =>
    new DataLoader<MessagePage, readonly number[], string>(
      async (pages) => {
        const me = signedIn(ctx);
        const narrow = await compileNarrow(me, STARRED);
        const found = await Promise.all(pages.map((page) => selectPage(me, narrow, page)));
        return found.map((ids) => ids.toSorted((a, b) => b - a));
      },
      { cacheKeyFn: (page) => JSON.stringify(page) },
    ),
);

/** A page of those who have read one message. */
export interface ReceiptPageKey extends UserPage {
  readonly messageId: number;
}

const pageOf = ({ messageId: _, ...page }: ReceiptPageKey) => JSON.stringify(page);

/** Pages of those who have read messages: one query for all that lie at the same place. */
export const receiptPages = perOperation(
  (ctx) =>
    new DataLoader<ReceiptPageKey, readonly Place[], string>(
      async (keys) => {
        const { app, realmId } = signedIn(ctx);
        const found = new Map<ReceiptPageKey, readonly Place[]>();
        for (const [page, ...others] of Map.groupBy(keys, pageOf).values()) {
          if (page === undefined) continue;
          const alike = [page, ...others];
          const messageIds = alike.map(({ messageId }) => messageId);
          const readersOf = await readReceiptPages(app.db, realmId, messageIds, page);
          for (const key of alike) found.set(key, readersOf(key.messageId));
        }
        return keys.map((key) => found.get(key) ?? []);
      },
      { cacheKeyFn: (key) => `${key.messageId} ${pageOf(key)}` },
    ),
);

/** How many have read a message, by its id. */
export const receiptCounts = perOperation(
  (ctx) =>
    new DataLoader<number, number>(async (messageIds) => {
      const { app, realmId } = signedIn(ctx);
      return messageIds.map(await countReceipts(app.db, realmId, messageIds));
    }),
);
