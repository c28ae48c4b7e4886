import { useCallback, useRef, useState } from 'react';
import { type AnyVariables, type TypedDocumentNode, useClient } from 'urql';
import { refusalIn } from '../base/refusals.ts';
import { mutate } from './mutate.ts';

export interface Command<V> {
  /** Runs the mutation. @returns Whether it succeeded. If not, `refusal` contains the reason until the next call. */
  readonly run: (variables: V) => Promise<boolean>;
  readonly refusal: string | undefined;
  readonly isBusy: boolean;
}

/**
 * Returns a function that runs a mutation, the reason of the last failure, and whether the mutation is in progress.
 *
 * @param onDone Called with the result after success.
 */
export function useCommand<D extends object, V extends AnyVariables>(
  document: TypedDocumentNode<D, V>,
  onDone?: (data: D) => void,
): Command<V> {
  const client = useClient();
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string>();
  const done = useRef(onDone);
  done.current = onDone;
  const run = useCallback(
    async (variables: V) => {
      setRefusal(undefined);
      setBusy(true);
      const { data, error } = await mutate(client, document, variables);
      setBusy(false);
      const said = refusalIn(data ?? undefined, error);
      setRefusal(said);
      if (said === undefined && data) done.current?.(data);
      return said === undefined;
    },
    [client, document],
  );
  return { run, refusal, isBusy };
}
