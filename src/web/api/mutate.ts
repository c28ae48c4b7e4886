import type { AnyVariables, Client, OperationResult, TypedDocumentNode } from 'urql';

/** Files go as forms, which the service takes of those alone who cannot be another site's page. */
export const HEADERS = { 'GraphQL-Require-Preflight': '1' };

/** Acts of which nobody knows whether the service did them, each with its key. */
const unsure = new Map<string, string>();

/**
 * Has the service do something once: under an idempotency key, which is the same for whoever asks for the same again
 * because no answer came. Once something else was answered it is another act: what was done since may have undone it.
 */
export async function mutate<D, V extends AnyVariables>(
  client: Client,
  document: TypedDocumentNode<D, V>,
  variables: V,
): Promise<OperationResult<D, V>> {
  const act = JSON.stringify([nameOf(document), variables], filesByName);
  const known = unsure.get(act);
  const key = known ?? newKey();
  const result = await client.mutation(document, variables, withKey(key)).toPromise();
  if (isSilence(result)) unsure.set(act, key);
  else if (known !== undefined) unsure.delete(act);
  else unsure.clear();
  return result;
}

/** What has the service take an operation for a repetition of those under the same key. */
export const withKey = (key: string) => ({
  // In a header: the cache does not hand on what stands in an operation's extensions. These are instead of the client's.
  fetchOptions: { headers: { ...HEADERS, 'Idempotency-Key': key } },
});

/** Also where the connection is not secure, and browsers make no UUIDs. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

const isSilence = ({ error }: OperationResult): boolean => error !== undefined && error.graphQLErrors.length === 0;

const nameOf = ({ definitions }: Pick<TypedDocumentNode, 'definitions'>): string =>
  definitions.flatMap((one) => (one.kind === 'OperationDefinition' ? (one.name?.value ?? []) : [])).join();

const filesByName = (_: string, value: unknown): unknown =>
  value instanceof File ? [value.name, value.size, value.lastModified] : value;
