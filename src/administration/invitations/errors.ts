import { defineError } from '../../platform/errors.ts';

/** Reasons for which no invitation is sent to an address, with their texts over REST. */
export const REFUSALS = {
  invalidAddress: 'Invalid address.',
  addressNotAllowed: 'This email address is not allowed in the organization.',
  hasAccount: 'Already has an account.',
  isDeactivated: 'Account has been deactivated.',
} as const;

export type Refusal = keyof typeof REFUSALS;

/** An address to which no invitation was sent. */
export interface RefusedAddress {
  readonly email: string;
  readonly refusal: Refusal;
}

interface Failure {
  readonly refused?: readonly RefusedAddress[];
  /** Whether invitations were sent to the other addresses. */
  readonly isSent?: boolean;
  readonly isDailyLimitReached?: boolean;
  /** Whether the invitations would exceed the organization's limit of active users. */
  readonly isUserLimitReached?: boolean;
}

/** Thrown if some or all of the invited people could not be invited. */
export class InvitationFailedError extends defineError(
  'INVITATION_FAILED',
  (
    message: string,
    { refused = [], isSent = false, isDailyLimitReached = false, isUserLimitReached = false }: Failure,
  ) => ({
    message,
    parameter: 'invitee_emails',
    data: {
      errors: refused.map(({ email, refusal }) => [email, REFUSALS[refusal], refusal === 'isDeactivated']),
      sent_invitations: isSent,
      license_limit_reached: isUserLimitReached,
      daily_limit_reached: isDailyLimitReached,
    },
  }),
) {
  readonly refused: readonly RefusedAddress[];

  constructor(message: string, failure: Failure) {
    super(message, failure);
    this.refused = failure.refused ?? [];
  }
}
