import { type Exchange, makeOperation, type OperationResult } from 'urql';
import { fromArray, map, mergeMap, pipe } from 'wonka';

/** Maximum number of kept results: more than usually arrive during one request. If there are more, the oldest is dropped. */
const KEPT = 1_000;

/**
 * Passes events to the cache again after the response to a query, if the query was sent before the events arrived. The response
 * may be older than the events, and has then overwritten their values in the cache. Events contain new values, not differences,
 * so applying them again is harmless. The registration of a queue, which makes older data invalid, is repeated likewise. Must
 * be placed between the cache and the network.
 */
export const replayExchange: Exchange =
  ({ forward }) =>
  (operations) => {
    let count = 0;
    let latest: OperationResult[] = [];
    return pipe(
      operations,
      map((one) => (one.kind === 'query' ? makeOperation('query', one, { ...one.context, sentAt: count }) : one)),
      forward,
      mergeMap((result) => {
        const { operation, data } = result;
        if (operation.kind === 'query') {
          const missed = count - Number(operation.context['sentAt']);
          return fromArray(missed === 0 ? [result] : [result, ...latest.slice(-missed)]);
        }
        if (data && (operation.kind === 'subscription' || data.registerEventQueue !== undefined)) {
          count++;
          latest = [...latest.slice(1 - KEPT), result];
        }
        return fromArray([result]);
      }),
    );
  };
