import type { AnyVariables, Client, TypedDocumentNode } from 'urql';
import { mutate } from '../api/mutate.ts';
import { refusalIn } from '../base/refusals.ts';
import { notify } from './notices.tsx';

/**
 * Runs a mutation that has no form to show its error. If the service refuses it, a notice shows the reason.
 *
 * @returns The result; undefined if the mutation failed.
 */
export async function act<D extends object, V extends AnyVariables>(
  client: Client,
  document: TypedDocumentNode<D, V>,
  variables: V,
): Promise<D | undefined> {
  const { data, error } = await mutate(client, document, variables);
  const refusal = refusalIn(data ?? undefined, error);
  if (refusal === undefined) return data;
  notify(refusal);
  return undefined;
}
