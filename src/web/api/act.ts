import type { AnyVariables, Client, TypedDocumentNode } from 'urql';
import { notify } from '../ui/notices.tsx';
import { mutate } from './mutate.ts';
import { refusalIn } from './use-command.ts';

/**
 * Does what somebody asked for with one key or click, where no form is that could say why it was refused: a notice does.
 *
 * @returns What the service answered; undefined where it refused.
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
