import { type Exchange, makeOperation, mapExchange, stringifyDocument } from 'urql';

// What the cache forgets is read again. Where it is being read just then, the answer may be of before: who asks again
// meanwhile is given that one. So what was forgotten on the way is read once more.

/** Fields, each with which of all forgettings was the last of it. */
const forgotten = new Map<string, number>();
let times = 0;

/** The cache has forgotten a field, of whatever object. */
export function noteForgotten(field: string): void {
  times += 1;
  forgotten.set(field, times);
}

/** Reads again what was forgotten while it was on its way; stands between the cache and the service. */
export const rereadExchange: Exchange = (input) => {
  const askedAt = new Map<number, number>();
  return mapExchange({
    onOperation({ kind, key }) {
      if (kind === 'query') askedAt.set(key, times);
    },
    onResult({ operation }) {
      const at = askedAt.get(operation.key);
      askedAt.delete(operation.key);
      if (at === undefined || at === times) return;
      const text = stringifyDocument(operation.query);
      const isOld = [...forgotten].some(([field, last]) => last > at && new RegExp(`\\b${field}\\b`).test(text));
      if (!isOld) return;
      const again = makeOperation('query', operation, { ...operation.context, requestPolicy: 'network-only' });
      // Once the cache has this answer: only what is shown is asked for.
      setTimeout(() => input.client.reexecuteOperation(again));
    },
  })(input);
};
