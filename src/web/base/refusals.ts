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
 * Messages about changes that were made, and whose response lacks the secret that is shown only once. The service omits it if the
 * database became unavailable after the change.
 */
export const NOT_RETURNED = {
  newKey: 'The key was created, but the service did not return it. Revoke it, and create another one.',
  replacedKey: 'The key was replaced, but the service did not return the new one. Replace it again.',
  newBotKey: 'The bot was created, but the service did not return its key. Replace the key of the bot.',
  link: 'The link was created, but the service did not return it. Find it in the list of invitations.',
  appSecret: 'The service did not return the secret. Try again.',
  desktopCode: 'The service did not return the code. Try again.',
  recoveryCodes: 'The service did not return the recovery codes. Replace them in your settings, under “Second factor”.',
};

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
