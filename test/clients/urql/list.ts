import type { Cache } from '@urql/exchange-graphcache';
import type { Json } from '../../helpers/http.ts';
import { SCREEN } from '../documents.ts';

/** Puts a new message to the end of its channel's list, where that is on the screen. */
export function append({ __typename, message }: Json, cache: Cache): void {
  if (__typename !== 'MessageSentEvent' || message === null) return;
  cache.updateQuery<Json>({ query: SCREEN, variables: { channelId: message.channel.id } }, (data) => {
    data?.channel.messages.nodes.push(message);
    return data;
  });
}
