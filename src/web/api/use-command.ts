import { useCallback, useRef, useState } from 'react';
import { type AnyVariables, type CombinedError, type TypedDocumentNode, useClient } from 'urql';
import { mutate } from './mutate.ts';
import { narrowProblem } from './narrow.ts';

/** Result of a mutation with one field: its payload or an error. */
type MutationResult = { readonly __typename?: string; readonly message?: string };

export interface Command<V> {
  /** Runs the mutation. @returns Whether it succeeded. If not, `refusal` contains the reason until the next call. */
  readonly run: (variables: V) => Promise<boolean>;
  readonly refusal: string | undefined;
  readonly isBusy: boolean;
}

/**
 * Returns a function that runs a mutation, with the reason of its last failure and whether it is in progress.
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

/** Returns the reason why a mutation failed, for the user; undefined if it succeeded. */
export function refusalIn(data: object | undefined, error: CombinedError | undefined): string | undefined {
  if (error !== undefined) return sentenceOf(error.graphQLErrors[0]);
  const [answer] = Object.values(data ?? {}) as MutationResult[];
  if (answer?.__typename?.endsWith('Payload') !== false) return undefined;
  return answer.__typename === 'ExpectationMismatchError' ? OVERTAKEN : (answer.message ?? SILENCE);
}

function sentenceOf(error: CombinedError['graphQLErrors'][number] | undefined): string {
  if (error === undefined) return SILENCE;
  const { code, desc } = error.extensions;
  return code === 'BAD_NARROW' && typeof desc === 'string' ? narrowProblem(desc) : error.message;
}

/** Message to the user about an `ExpectationMismatchError`. The service's own message names an API parameter. */
const OVERTAKEN = 'Another user has changed this in the meantime. Your change was not saved.';

const SILENCE = 'The service does not respond. Try again in a moment.';
