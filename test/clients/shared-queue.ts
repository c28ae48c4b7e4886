import type { ExecutionResult } from 'graphql';
import type { Client } from 'graphql-ws';

/** A result of the subscription. Results with `errors` are the last: the queue is lost, and every tab registers another. */
type Result = ExecutionResult<Record<string, unknown>, { readonly position: number }>;

/**
 * Reads one event queue in several tabs of a browser. The tab that holds the lock subscribes, and passes each result on to the
 * others. If this tab is closed, the next one gets the lock, and resumes after the last event that it has received.
 *
 * @param queue The id of the queue, and the position up to which this tab has its events. `client` sends the position with
 *   each connection.
 * @param receive Called with each result, in each tab.
 * @returns A function that stops reading in this tab.
 */
export function readTogether(
  client: Client,
  queue: { readonly queueId: string; position: number },
  query: string,
  receive: (result: Result) => void,
): () => void {
  const name = `queue ${queue.queueId}`;
  const stopped = new AbortController();
  const others = new BroadcastChannel(name);
  const arrive = (result: Result) => {
    queue.position = result.extensions?.position ?? queue.position;
    receive(result);
  };
  others.onmessage = ({ data }) => arrive(data as Result);
  const read = () =>
    new Promise<void>((release) => {
      const next = (result: unknown) => {
        others.postMessage(result);
        arrive(result as Result);
      };
      const error = (errors: unknown) => next({ errors });
      const variables = { queueId: queue.queueId };
      const unsubscribe = client.subscribe({ query, variables }, { next, error, complete: release });
      stopped.signal.addEventListener('abort', () => {
        unsubscribe();
        release();
      });
    });
  void navigator.locks.request(name, { signal: stopped.signal }, read).catch(() => {});
  stopped.signal.addEventListener('abort', () => others.close());
  return () => stopped.abort();
}
