import type { AnyVariables, Client, TypedDocumentNode } from 'urql';
import { unsettled } from '../api/counts.ts';
import { noteForgotten } from '../api/reread.ts';
import { dueLists } from '../api/topic-lists.ts';
import { ChannelTopicsDocument, CountsDocument, TopicsOfChannelDocument } from '../generated/graphql.ts';
import { cachedPosition, liveStatus } from './status.ts';

/** Time without changes after which the counts are read again. */
const QUIET_MS = 1_500;

/** Reads the topic lists of a channel again when that is due. @returns A function that stops it. */
export function keepTopicsListed(client: Client): () => void {
  return dueLists.watch(() => {
    const { channelId = '' } = dueLists.get() ?? {};
    const again = <V extends AnyVariables>(document: TypedDocumentNode<unknown, V>, variables: V) => {
      const isCached = client.readQuery(document, variables, { requestPolicy: 'cache-only' })?.data != null;
      if (isCached) void client.query(document, variables, { requestPolicy: 'network-only' }).toPromise();
    };
    // Responses in flight may predate the change.
    noteForgotten('topics', (asked) => (asked as { readonly channelId?: string } | undefined)?.channelId === channelId);
    again(ChannelTopicsDocument, { channelId });
    again(TopicsOfChannelDocument, { channelId, after: null });
  });
}

/** Reads the unread counts again after a quiet period if they may be wrong. @returns A function that stops it. */
export function keepCountsSettled(client: Client): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const settle = async () => {
    const before = cachedPosition.get();
    await client.query(CountsDocument, {}, { requestPolicy: 'network-only' }).toPromise();
    // Another event has arrived, or is still waiting for the cache. The response may already include it.
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
