import type { SqlClient } from '../../platform/db/client.ts';
import { readByTurn } from '../../platform/db/read-by-turn.ts';
import type { Holder } from './read-state.ts';
import { lastReceivedIds } from './summaries.ts';

/** Loads the id of the last message that a user received. -1 if there is none. Concurrent requests share one query. */
export const lastReceivedByTurn = readByTurn(async (db: SqlClient, holders: readonly Holder[]) => {
  const last = await lastReceivedIds(db, [...new Map(holders.map((one) => [one.userId, one])).values()]);
  return holders.map(({ userId }) => last.get(userId) ?? -1);
});
