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

/** Returns a function that runs a mutation, and its state. @param onDone Called with the result after success. */
export function useCommand<D extends object, V extends AnyVariables>(
  document: TypedDocumentNode<D, V>,
  onDone?: (data: D) => void,
): Command<V> {
  const client = useClient();
  const [state, setState] = useState<Omit<Command<V>, 'run'>>({ isBusy: false, refusal: undefined });
  const done = useRef(onDone);
  done.current = onDone;
  const run = useCallback(
    async (variables: V) => {
      setState({ isBusy: true, refusal: undefined });
      const { data, error } = await mutate(client, document, variables);
      const refusal = refusalIn(data ?? undefined, error);
      setState({ isBusy: false, refusal });
      if (refusal === undefined && data) done.current?.(data);
      return refusal === undefined;
    },
    [client, document],
  );
  return { run, ...state };
}
