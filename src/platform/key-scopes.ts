/**
 * Scopes of an API key: what requests with the key can do.
 *
 * `read`: reads. `write`: changes that the audit log does not record. `events`: register, read and delete event queues, with the
 * state that the registration returns. `administration`: reads and changes that the audit log records.
 */
export const KEY_SCOPES = ['read', 'write', 'events', 'administration'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** Credentials as far as they limit requests. Without `scopes`, they limit nothing. */
export interface ScopedCredential {
  readonly scopes?: readonly KeyScope[] | undefined;
}

/** The scopes that an operation requires: one, several, or none. */
export type RequiredScopes = KeyScope | readonly KeyScope[];

/** Returns those of the required scopes that the credentials of a viewer lack. Empty for sessions and unlimited API keys. */
export function missingScopes(credential: ScopedCredential | null | undefined, required: RequiredScopes): KeyScope[] {
  const scopes = credential?.scopes;
  if (scopes === undefined) return [];
  return [required].flat().filter((scope) => !scopes.includes(scope));
}
