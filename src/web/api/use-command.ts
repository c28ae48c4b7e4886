import { useCallback, useState } from 'react';
import { type AnyVariables, type CombinedError, type TypedDocumentNode, useClient } from 'urql';
import { mutate } from './mutate.ts';

/** What a mutation of one field answers: its payload, or why it is refused. */
type Answer = { readonly __typename?: string; readonly message?: string };

export interface Command<V> {
  /** @returns Whether the service did it. What it said otherwise is `refusal`, until the next try. */
  readonly run: (variables: V) => Promise<boolean>;
  readonly refusal: string | undefined;
  readonly isBusy: boolean;
}

/** One mutation that somebody asks for, with what the service has to say against it. */
export function useCommand<D extends object, V extends AnyVariables>(document: TypedDocumentNode<D, V>): Command<V> {
  const client = useClient();
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string>();
  const run = useCallback(
    async (variables: V) => {
      setRefusal(undefined);
      setBusy(true);
      const { data, error } = await mutate(client, document, variables);
      setBusy(false);
      const said = refusalIn(data ?? undefined, error);
      setRefusal(said);
      return said === undefined;
    },
    [client, document],
  );
  return { run, refusal, isBusy };
}

/** Why the service did not do what was asked; undefined where it did. */
export function refusalIn(data: object | undefined, error: CombinedError | undefined): string | undefined {
  if (error !== undefined) return error.graphQLErrors[0]?.message ?? SILENCE;
  const [answer] = Object.values(data ?? {}) as Answer[];
  if (answer?.__typename?.endsWith('Payload') !== false) return undefined;
  return answer.__typename === 'ExpectationMismatchError' ? OVERTAKEN : (answer.message ?? SILENCE);
}

/** What the service says of it names a parameter. */
const OVERTAKEN = 'Somebody else has changed this meanwhile, and nothing is saved.';

const SILENCE = 'The service does not answer. Try again in a moment.';
