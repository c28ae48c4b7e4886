import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import type { UserPage } from '../../people/user-pages.ts';
import type { Place } from '../../platform/db/keyset.ts';
import type { MessagePage } from '../channel-messages.ts';
import { compileNarrow } from '../narrow/narrow.ts';
import { selectPage } from '../narrow/narrow-select.ts';
import { countReceipts, readReceiptPages } from './receipts.ts';

const STARRED = [{ operator: 'is', operand: 'starred', negated: false }];

/**
 * Loads pages of the messages that the viewer has starred and can read, as ids, newest first. Each page is loaded once per
 * operation.
 */
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

/** Message, bounds and order of a page of the users who have read the message. */
export interface ReceiptPageKey extends UserPage {
  readonly messageId: number;
}

const pageOf = ({ messageId: _, ...page }: ReceiptPageKey) => JSON.stringify(page);

/**
 * Loads pages of the users who have read messages. Pages of several messages with the same bounds and order share one query.
 */
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

/** Loads the number of users who have read a message, by the message's id. */
export const receiptCounts = perOperation(
  (ctx) =>
    new DataLoader<number, number>(async (messageIds) => {
      const { app, realmId } = signedIn(ctx);
      return messageIds.map(await countReceipts(app.db, realmId, messageIds));
    }),
);
