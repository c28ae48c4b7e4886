import type { AnyVariables, Client, TypedDocumentNode } from 'urql';
import { unsettled } from '../api/counts.ts';
import { noteForgotten } from '../api/reread.ts';
import { dueLists } from '../api/topic-lists.ts';
import { ChannelTopicsDocument, CountsDocument, TopicsOfChannelDocument } from '../generated/graphql.ts';
import { cachedPosition, liveStatus } from './status.ts';

/** Time without changes to `unsettled` after which the unread counts are fetched again. */
const QUIET_MS = 1_500;

/** Reads the topic lists of a channel again when `dueLists` names the channel. @returns A function that ends the watch. */
export function keepTopicsListed(client: Client): () => void {
  return dueLists.watch(() => {
    const { channelId = '' } = dueLists.get() ?? {};
    const again = <V extends AnyVariables>(document: TypedDocumentNode<unknown, V>, variables: V) => {
      const isCached = client.readQuery(document, variables, { requestPolicy: 'cache-only' })?.data != null;
      if (isCached) void client.query(document, variables, { requestPolicy: 'network-only' }).toPromise();
    };
    // Responses in flight may lack the new topic, so their queries are sent again.
    noteForgotten('topics', (asked) => (asked as { readonly channelId?: string } | undefined)?.channelId === channelId);
    again(ChannelTopicsDocument, { channelId });
    again(TopicsOfChannelDocument, { channelId, after: null });
  });
}

/** Reads the unread counts again after a quiet period if they may be wrong. @returns A function that ends the watch. */
export function keepCountsSettled(client: Client): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const settle = async () => {
    const before = cachedPosition.get();
    await client.query(CountsDocument, {}, { requestPolicy: 'network-only' }).toPromise();
    // The response may include an event that arrived in the meantime and that the cache then counts a second time.
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
