import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import { sharedLoads } from '../../api/graphql/loading/shared-loads.ts';
import type { UserPage } from '../../people/user-pages.ts';
import type { MessagePage } from '../channel-messages.ts';
import { compileNarrow } from '../narrow/narrow.ts';
import { selectPage } from '../narrow/narrow-select.ts';
import { countReceipts, readReceiptPages } from './receipts.ts';

export const STARRED = [{ operator: 'is', operand: 'starred', negated: false }];

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

/** Loads pages of the users who have read messages. */
export const receiptPages = sharedLoads(
  async ({ work, organizationId }, messageIds: readonly number[], page: UserPage) =>
    messageIds.map(await readReceiptPages(work.db, organizationId, messageIds, page)),
);

/** Loads the number of users who have read a message, by the message's id. */
export const receiptCounts = perOperation(
  (ctx) =>
    new DataLoader<number, number>(async (messageIds) => {
      const { work, organizationId } = signedIn(ctx);
      return messageIds.map(await countReceipts(work.db, organizationId, messageIds));
    }),
);
