import { useCallback, useMemo } from 'react';
import { type AnyVariables, createRequest, type RequestPolicy, type TypedDocumentNode, useQuery } from 'urql';
import { refusalIn } from '../base/refusals.ts';
import { useStore } from '../base/store.ts';
import { wake } from '../base/worth-trying.ts';
import { trouble } from './retry.ts';

/**
 * Data for the document and the variables of the current render, never for those of an earlier render. `loading`: it is being
 * read for the first time. `failed`: it could not be read, for the reason in `message`. `isStale`: it is from the cache, and is
 * being read again.
 */
export type Data<D> =
  | { readonly state: 'loading'; readonly data?: undefined }
  | { readonly state: 'failed'; readonly data?: undefined; readonly message: string; readonly retry: () => void }
  | { readonly state: 'ready'; readonly data: D; readonly isStale: boolean; readonly reload: () => void };

interface Options {
  readonly requestPolicy?: RequestPolicy;
  /** If true, nothing is fetched: the result stays `loading`. */
  readonly pause?: boolean;
}

/**
 * Reads data from the cache or the service. When the data changes, the component renders again. Components read data with this
 * hook only.
 *
 * Temporary failures are retried automatically (`api/retry.ts`). If no data is available and the retries do not succeed soon,
 * the result is `failed` until a retry succeeds.
 */
export function useData<D, V extends AnyVariables>(
  query: TypedDocumentNode<D, V>,
  variables: V,
  { requestPolicy = 'cache-first', pause = false }: Options = {},
): Data<D> {
  // The key depends only on the document and the values of the variables.
  const { key } = createRequest(query, variables);
  const [result, execute] = useQuery<D, AnyVariables>({ query, variables, requestPolicy, pause });
  const retrying = useStore(trouble);
  const read = useCallback(() => {
    wake();
    execute({ requestPolicy: 'network-only' });
  }, [execute]);
  const { data, error, stale: isStale = false } = !pause && result.operation?.key === key ? result : {};
  const message = data == null && error === undefined ? retrying : refusalIn(undefined, error);
  return useMemo(() => {
    if (pause) return { state: 'loading' };
    if (data != null && (error === undefined || isWhole(data))) return { state: 'ready', data, isStale, reload: read };
    return message === undefined ? { state: 'loading' } : { state: 'failed', message, retry: read };
  }, [pause, data, error, isStale, message, read]);
}

/** Returns whether no field of a response is null. In a response with errors, a null may stand for a value that exists. */
const isWhole = (data: object): boolean => Object.values(data).every((value) => value !== null);
