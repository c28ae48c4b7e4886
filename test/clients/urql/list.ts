import type { Cache } from '@urql/exchange-graphcache';
import type { Json } from '../../helpers/http.ts';
import { SCREEN } from '../documents.ts';

/** Appends a new message to the list of its channel, if the channel is in the cache. */
export function append({ __typename, message }: Json, cache: Cache): void {
  if (__typename !== 'MessageSentEvent' || message === null) return;
  cache.updateQuery<Json>({ query: SCREEN, variables: { channelId: message.channel.id } }, (data) => {
    data?.channel.messages.nodes.push(message);
    return data;
  });
}
