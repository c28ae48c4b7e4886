import relay from 'relay-runtime';
import type { Json } from '../../helpers/http.ts';
import { patientFetch } from '../patient-fetch.ts';
import { type QueuePosition, resumingSocket } from '../socket.ts';

/** Id of the store record for the `query` field in the payload of a registration. */
const QUERY_ID = 'client:query';

/** Creates a Relay environment. Queries can read data from the store that the `query` field of a registration returned. */
export function relayEnvironment(url: string, authorization: () => string, place: QueuePosition) {
  const socket = resumingSocket(url, authorization, place);
  return new relay.Environment({
    store: new relay.Store(new relay.RecordSource()),
    getDataID: ({ id }, type) => (type === 'Query' ? QUERY_ID : id),
    missingFieldHandlers: [
      {
        kind: 'linked',
        handle: (field, record, args, store) =>
          record?.getType() === relay.ROOT_TYPE
            ? store.get(QUERY_ID)?.getLinkedRecord(field.name, args)?.getDataID()
            : undefined,
      },
    ],
    network: relay.Network.create(
      async ({ text: query }, variables) => {
        const headers = { 'content-type': 'application/json', authorization: authorization() };
        const body = JSON.stringify({ query, variables });
        return (await patientFetch(url, { method: 'POST', headers, body })).json();
      },
      ({ text }, variables) =>
        relay.Observable.create((sink) => socket.subscribe({ query: text ?? '', variables }, sink as Json)),
    ),
  });
}
