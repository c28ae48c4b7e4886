import type { CombinedError } from 'urql';

/** Result of a mutation with one field: its payload or an error. */
type MutationResult = { readonly __typename?: string; readonly message?: string };

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

/**
 * Returns the error message that the user sees if the service refuses a narrow (message filter). The message of the service
 * itself begins with a term of the API.
 *
 * @param desc Field `desc` of the error BAD_NARROW, such as `unknown channel general`.
 */
export function narrowProblem(desc: string): string {
  const channel = /^unknown channel (.*)$/s.exec(desc)?.[1];
  if (channel !== undefined) return `There is no channel “${channel}”.`;
  if (desc.startsWith('unknown user ')) return NO_SUCH_USER;
  return `${desc.charAt(0).toUpperCase()}${desc.slice(1).replace(/\.$/, '')}.`;
}

export const NO_SUCH_USER = 'There is no such user.';
