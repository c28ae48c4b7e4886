import { type AnyVariables, type Client, getOperationName, type OperationResult, type TypedDocumentNode } from 'urql';

/** Header that the service requires for multipart forms, which contain files. Pages of other sites cannot send this header. */
export const HEADERS = { 'GraphQL-Require-Preflight': '1' };

/** Idempotency keys of mutations that received no response, and that the service may have executed, by name and variables. */
const unsure = new Map<string, string>();

/**
 * Runs a mutation under an idempotency key. If no response arrives, the next call of the mutation with equal variables reuses
 * the key. Once a new mutation gets a response, all keys that wait for reuse are dropped, because the new mutation may have
 * undone the earlier ones.
 */
export async function mutate<D, V extends AnyVariables>(
  client: Client,
  document: TypedDocumentNode<D, V>,
  variables: V,
): Promise<OperationResult<D, V>> {
  const act = JSON.stringify([getOperationName(document), variables], filesByName);
  const key = unsure.get(act) ?? newKey();
  const result = await client.mutation(document, variables, withKey(key)).toPromise();
  if (result.error?.graphQLErrors.length === 0) unsure.set(act, key);
  else if (!unsure.delete(act)) unsure.clear();
  return result;
}

/** Returns the operation context that sends an idempotency key: as a header, because the cache drops extensions. */
export const withKey = (key: string) => ({ fetchOptions: { headers: { ...HEADERS, 'Idempotency-Key': key } } });

/** Returns a random idempotency key. Browsers have no `crypto.randomUUID` on insecure connections. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

const filesByName = (_: string, value: unknown): unknown =>
  value instanceof File ? [value.name, value.size, value.lastModified] : value;
