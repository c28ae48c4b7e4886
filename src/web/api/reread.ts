import { type AnyVariables, type Exchange, makeOperation, mapExchange, type Operation, stringifyDocument } from 'urql';

// Components fetch invalidated fields again. If a query for one of these fields is already in flight, the client sends no
// second one, although the response may be from before the invalidation. Such queries are therefore sent again after their
// response.

/** A query in flight. */
interface Reading {
  readonly operation: Operation;
  /** Whether the response may predate an invalidation. */
  isOld: boolean;
}

/** The queries in flight, by operation key. */
const readings = new Map<number, Reading>();

function markOld(isConcerned: (operation: Operation) => boolean): void {
  for (const reading of readings.values()) if (isConcerned(reading.operation)) reading.isOld = true;
}

/**
 * Marks the queries in flight that select an invalidated field, of any object.
 *
 * @param isConcerned Whether a query with these variables reads invalidated data.
 */
export function noteForgotten(field: string, isConcerned: (variables: AnyVariables) => boolean = () => true): void {
  const asks = new RegExp(`\\b${field}\\b`);
  // A query may have no variables.
  markOld(({ query, variables }) => asks.test(stringifyDocument(query)) && isConcerned(variables ?? {}));
}

/**
 * Marks the queries in flight that select a field of `Query` other than those in `but`, even one that the cache does not
 * contain yet.
 */
export function noteAllForgotten(but: ReadonlySet<string>): void {
  markOld(({ query }) => fieldsOf(query).some((field) => !but.has(field)));
}

/** Returns the names of the root fields that a query selects. */
function fieldsOf({ definitions }: Exclude<Operation['query'], string>): string[] {
  type Selections = Extract<(typeof definitions)[number], { readonly selectionSet: unknown }>['selectionSet'];
  const namesIn = ({ selections }: Selections): string[] =>
    selections.flatMap((one) => {
      if (one.kind === 'Field') return one.name.value === '__typename' ? [] : [one.name.value];
      if (one.kind === 'InlineFragment') return namesIn(one.selectionSet);
      return definitions.flatMap((fragment) =>
        fragment.kind === 'FragmentDefinition' && fragment.name.value === one.name.value
          ? namesIn(fragment.selectionSet)
          : [],
      );
    });
  return definitions.flatMap((one) => (one.kind === 'OperationDefinition' ? namesIn(one.selectionSet) : []));
}

/** Sends queries again if their fields were invalidated while they were in flight. Must be placed after the cache. */
export const rereadExchange: Exchange = (input) =>
  mapExchange({
    onOperation(operation) {
      if (operation.kind === 'query') readings.set(operation.key, { operation, isOld: false });
      // A teardown means that no component reads the query any more.
      else if (operation.kind === 'teardown') readings.delete(operation.key);
    },
    onResult({ operation }) {
      const isOld = readings.get(operation.key)?.isOld === true;
      readings.delete(operation.key);
      if (!isOld) return;
      const again = makeOperation('query', operation, { ...operation.context, requestPolicy: 'network-only' });
      // The query is sent after the cache has stored this response, which may overwrite newer values from an event. It is
      // sent even if no component shows the data, because the cache would keep the old data for later components.
      setTimeout(() => void input.client.executeRequestOperation(again).toPromise());
    },
  })(input);
