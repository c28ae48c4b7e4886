/** A person whose identity a provider has confirmed, whatever the protocol of the provider. */
export interface Identity {
  readonly issuer: string;
  /** Identifier of the person at the issuer, which never changes and is never used for another person. */
  readonly subject: string;
  /** Email address. Undefined if the provider names none. */
  readonly email: string | undefined;
  /** Whether the provider confirmed that the address belongs to the person. */
  readonly isEmailVerified: boolean;
  /** Possible full names, the best first. */
  readonly names: readonly string[];
  /** Values of the groups claim. Undefined if the provider does not say which groups the person has. */
  readonly groups: readonly string[] | undefined;
  /** Identifier of the person's session at the provider. Undefined if the provider names none. */
  readonly sessionId: string | undefined;
  /** Whether the person can sign out at the provider. */
  readonly isSignOutOffered: boolean;
}
