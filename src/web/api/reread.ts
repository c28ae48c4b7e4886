import { type AnyVariables, type Exchange, makeOperation, mapExchange, type Operation, stringifyDocument } from 'urql';

// What the cache forgets is read again. Where it is being read just then, the answer may be of before: who asks again
// meanwhile is given that one. So what was forgotten on the way is read once more.

/** A query on its way. */
interface Reading {
  readonly operation: Operation;
  /** Whether the answer may be of before something was forgotten. */
  isOld: boolean;
}

/** By the keys of their operations. */
const readings = new Map<number, Reading>();

function markOld(isConcerned: (operation: Operation) => boolean): void {
  for (const reading of readings.values()) if (isConcerned(reading.operation)) reading.isOld = true;
}

/**
 * The cache has forgotten a field, of whatever object.
 *
 * @param isConcerned Of a query that asks for it, whether it asks for what was forgotten, by its variables.
 */
export function noteForgotten(field: string, isConcerned: (variables: AnyVariables) => boolean = () => true): void {
  const asks = new RegExp(`\\b${field}\\b`);
  markOld(({ query, variables }) => isConcerned(variables) && asks.test(stringifyDocument(query)));
}

/** The cache has forgotten every field of `Query` but these, also those that it does not know of yet. */
export function noteAllForgotten(but: ReadonlySet<string>): void {
  markOld(({ query }) => fieldsOf(query).some((field) => !but.has(field)));
}

/** What a query asks of `Query` itself. */
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

/** Reads again what was forgotten while it was on its way; stands between the cache and the service. */
export const rereadExchange: Exchange = (input) =>
  mapExchange({
    onOperation(operation) {
      if (operation.kind === 'query') readings.set(operation.key, { operation, isOld: false });
      // Nobody waits for it any more.
      else if (operation.kind === 'teardown') readings.delete(operation.key);
    },
    onResult({ operation }) {
      const isOld = readings.get(operation.key)?.isOld === true;
      readings.delete(operation.key);
      if (!isOld) return;
      const again = makeOperation('query', operation, { ...operation.context, requestPolicy: 'network-only' });
      // Once the cache has this answer: only what is shown is asked for.
      setTimeout(() => input.client.reexecuteOperation(again));
    },
  })(input);
