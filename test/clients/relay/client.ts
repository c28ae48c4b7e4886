import relay from 'relay-runtime';
import type { Json } from '../../helpers/http.ts';
import { type Place, resumingSocket } from '../socket.ts';

/** Creates a Relay environment that finds a channel in the store by its id, no matter which query has read the channel. */
export function relayEnvironment(url: string, authorization: () => string, place: Place) {
  const socket = resumingSocket(url, authorization, place);
  return new relay.Environment({
    store: new relay.Store(new relay.RecordSource()),
    missingFieldHandlers: [
      {
        kind: 'linked',
        handle: (field, record, args) =>
          record?.getType() === relay.ROOT_TYPE && field.name === 'channel' ? args['by'].id : undefined,
      },
    ],
    network: relay.Network.create(
      async ({ text: query }, variables) => {
        const headers = { 'content-type': 'application/json', authorization: authorization() };
        const body = JSON.stringify({ query, variables });
        return (await fetch(url, { method: 'POST', headers, body })).json();
      },
      ({ text }, variables) =>
        relay.Observable.create((sink) => socket.subscribe({ query: text ?? '', variables }, sink as Json)),
    ),
  });
}
