import type { Client } from 'urql';
import { unsettled } from '../api/counts.ts';
import { CountsDocument } from '../generated/graphql.ts';
import { cachedPosition, liveStatus } from './status.ts';

/** How long nothing may have happened, before the counts are read again. */
const QUIET_MS = 1_500;

/** Reads the unread counts again when it is quiet after they became unsure. @returns What ends it. */
export function keepCountsSettled(client: Client): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const settle = async () => {
    const before = cachedPosition.get();
    await client.query(CountsDocument, {}, { requestPolicy: 'network-only' }).toPromise();
    // Something happened meanwhile, or waits for the cache, which the answer may know of already.
    if (liveStatus.get().position !== before) start();
  };
  const start = () => {
    clearTimeout(timer);
    timer = setTimeout(settle, QUIET_MS);
  };
  const unwatch = unsettled.watch(start);
  return () => {
    clearTimeout(timer);
    unwatch();
  };
}
