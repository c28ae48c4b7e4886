import { useCallback, useMemo } from 'react';
import { type AnyVariables, createRequest, type RequestPolicy, type TypedDocumentNode, useQuery } from 'urql';
import { refusalIn } from '../base/refusals.ts';
import { useStore } from '../base/store.ts';
import { retryNow, troubles } from './retry.ts';

/** Data that is being read for the first time. */
export interface Loading {
  readonly state: 'loading';
  readonly data?: undefined;
}

/** Data that could not be read. */
export interface Failed {
  readonly state: 'failed';
  readonly data?: undefined;
  /** The reason of the failure, as text for the user. */
  readonly message: string;
  readonly retry: () => void;
}

/** Data for the document and the variables of the current render, never for those of an earlier render. */
export interface Ready<D> {
  readonly state: 'ready';
  readonly data: D;
  /** Reads the data from the service again. */
  readonly reload: () => void;
}

export type Data<D> = Loading | Failed | Ready<D>;

interface Options {
  readonly requestPolicy?: RequestPolicy;
  /** If true, nothing is fetched: the result stays `loading`. */
  readonly pause?: boolean;
}

/**
 * Reads data from the cache or the service. When the data changes, the component renders again. Components read data with this
 * hook only.
 *
 * When the document or a variable changes, the previous data is dropped in the same render. Temporary failures are retried
 * automatically (`api/retry.ts`). If no data is available and the retries do not succeed soon, the result is `failed` until a
 * retry succeeds.
 */
export function useData<D, V extends AnyVariables>(
  query: TypedDocumentNode<D, V>,
  variables: V,
  { requestPolicy = 'cache-first', pause = false }: Options = {},
): Data<D> {
  // The key depends only on the document and the values of the variables.
  const { key } = createRequest(query, variables);
  const [result, execute] = useQuery<D, AnyVariables>({ query, variables, requestPolicy, pause });
  const trouble = useStore(troubles, (all) => all.get(key));
  const read = useCallback(() => {
    if (trouble === undefined) execute({ requestPolicy: 'network-only' });
    else retryNow(key);
  }, [key, trouble, execute]);
  const isOwn = !pause && result.operation?.key === key;
  const { data, error } = isOwn ? result : {};
  const message = data == null && error === undefined ? trouble : refusalIn(undefined, error);
  return useMemo(() => {
    if (pause) return { state: 'loading' };
    if (data != null && (error === undefined || isWhole(data))) return { state: 'ready', data, reload: read };
    return message === undefined ? { state: 'loading' } : { state: 'failed', message, retry: read };
  }, [pause, data, error, message, read]);
}

/** Returns whether no field of a response is null. In a response with errors, a null may stand for a value that exists. */
const isWhole = (data: object): boolean => Object.values(data).every((value) => value !== null);
